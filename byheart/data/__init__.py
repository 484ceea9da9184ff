"""What is to be memorised: datasets, their contexts and targets, and the files they come from."""
