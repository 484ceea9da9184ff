"""Data to memorise: datasets, their contexts and targets, and the files they come from."""
