"""Networks with exact weights, and how to run them without rounding."""
