"""Kajitsuka and Sato (2025): sizes of the constructions, sign patterns."""
