"""One file per format: read(raw, ...) gives a Dataset, write(dataset, path) a file."""
