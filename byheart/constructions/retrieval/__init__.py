"""Shared by the constructions that retrieve labels from stored numbers by a hash."""
