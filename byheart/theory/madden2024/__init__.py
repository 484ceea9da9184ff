"""Madden, Fox and Thrampoulidis (2024): capacity, adversarial data, theorems as checks."""
