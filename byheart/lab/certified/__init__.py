"""A trained network as a model that byheart certifies: for recall, verify and compare."""
