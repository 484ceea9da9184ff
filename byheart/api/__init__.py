"""The verbs: one function each, with one typed result, under all three doors."""
