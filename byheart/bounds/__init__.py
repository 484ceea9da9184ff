"""The limits and sizes that theorems give, one file a paper."""
