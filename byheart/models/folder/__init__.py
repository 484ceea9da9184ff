"""The model folder of checker/FORMAT.md: written whole or not at all, read as data from strangers.

The reader shares no code with checker/check.py: a misreading of FORMAT.md in one shows up against
the other. `read.open` and `write.save` are the two ends.
"""
