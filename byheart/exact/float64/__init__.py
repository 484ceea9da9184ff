"""Plain doubles, with the proof that nothing is rounded."""
