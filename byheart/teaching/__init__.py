"""Facts put into a trained checkpoint as layers that are off at every other context."""
