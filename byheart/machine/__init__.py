"""The machine we run on: memory, threads, files that appear whole, progress."""
