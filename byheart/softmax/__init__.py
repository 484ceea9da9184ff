"""Decoders with softmax attention: weights, a float run, and rigorous bounds over the reals."""
