"""Trained checkpoints of others: how much of a file they hold, in bits."""
