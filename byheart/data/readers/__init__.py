"""One file per file format: read(path, ...) gives a Dataset, write(dataset, path) a file."""
