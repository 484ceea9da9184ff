"""The local page: what the commands do, for people who would rather look than type.

The server only hands files around: it holds the state, checks who asks, and streams progress. All
work runs in processes of its own (`worker.py`), which call the functions of the command line
(`tasks.py`), so that a page never blocks and any work can be stopped.
"""
