"""A network with the words that it reads and writes, its claim, its proof and its folder."""
