"""Pictures. matplotlib is imported inside functions only: it is slow, and an extra."""
