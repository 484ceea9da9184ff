"""A question (how large must it be?) as many trials, and the answer that their rows give."""
