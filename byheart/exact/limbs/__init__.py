"""The fast engine: compiled kernels on integers of several machine words."""
