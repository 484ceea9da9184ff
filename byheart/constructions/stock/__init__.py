"""What the constructions of stock checkpoints share."""
