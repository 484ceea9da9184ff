"""What a benchmark does with a method: it is loaded, called, and its answers become scores."""
