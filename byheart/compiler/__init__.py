"""Dataset in, verified model out; and all constructions side by side."""
