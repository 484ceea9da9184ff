"""Results as rows, sentences and pictures, for the terminal and the page."""
