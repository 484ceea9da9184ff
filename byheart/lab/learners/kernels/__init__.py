"""Inner loops in numba, eight numbers at a time."""
