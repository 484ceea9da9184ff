"""Dana, Pydi and Chevaleyre (2024): capacity, ranks, near-look-up tables, associations."""
