"""The reference: Python integers, one layer kind after another."""
