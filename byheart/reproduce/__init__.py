"""The figures of the papers, redrawn: our rows beside the published numbers and the bounds.

figure     what a figure is: the parts to train, and how their rows are drawn
marks      one look for all of them
fits       least squares with standard errors
published  the authors' numbers
data       TinyStories, MultiNLI and IMDb, from the user's file or from Hugging Face

random_data              random bigram tables and random vectors
madden, dana, kajitsuka  the figures of each paper
findings                 what came out of them, in sentences
"""

from .dana import DANA
from .figure import Figure
from .kajitsuka import KAJITSUKA
from .madden import MADDEN_1

FIGURES: tuple[Figure, ...] = (MADDEN_1, *DANA, *KAJITSUKA)
