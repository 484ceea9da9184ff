"""The sweeps of Figure 1: a fine grid with our protocol, some cells with the authors' own."""

from itertools import islice

from ...data.dataset import Dataset
from ...data.load import from_rows
from ...data.readers.text import tokenize
from ...errors import ByheartError
from ...lab.protocol import protocol
from ...lab.sweeps.sweep import SEQUENCES, Sweep
from ...lab.trial import Criterion
from ..data import stories
from ..figure import Part, Settings

LENGTH = 10  # words used of each story; all except the first are predicted
PREDICTED = LENGTH - 1  # rows of the dataset per story
STORIES = tuple(range(100, 1001, 100))
NEURONS = (4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 128, 256, 512)
PAPER = {100: (8, 16, 32), 200: (32,), 300: (16, 32), 400: (16,)}  # neurons by stories
SEEDS = 3  # of ours in the cells that both protocols are run on
QUICK_STORIES, QUICK_NEURONS = (100, 200), (8, 16, 32, 64)
CRITERION = Criterion("gap", 0.01)
FAST, PAPERS = "fast", "paper"
LABELS = (FAST, *(f"{how}-{n}" for how in (FAST, PAPERS) for n in PAPER))


def parts(settings: Settings) -> list[Part]:
    """The grid, and the cells that the authors' protocol is run on, by both protocols."""
    grid = (QUICK_STORIES, QUICK_NEURONS) if settings.quick else (STORIES, NEURONS)
    dataset = predictions(stories(settings.data), max(grid[0]))
    wanted = [(FAST, FAST, *grid, 1)]
    if not settings.quick:
        wanted += [
            (f"{name}-{n}", name, (n,), neurons, seeds)
            for name, seeds in ((FAST, SEEDS), (PAPERS, 1))
            for n, neurons in PAPER.items()
        ]
    return [
        Part(
            label,
            Sweep(
                architecture="madden2024",
                sizes={"dimension": 16},
                axes=((SEQUENCES, tuple(n * PREDICTED for n in counts)), ("neurons", neurons)),
                data={"sha256": dataset.sha256()},
                protocol=protocol("madden2024", name),
                criterion=CRITERION,
                seeds=settings.repeats(seeds),
            ),
            dataset,
        )
        for label, name, counts, neurons, seeds in wanted
    ]


def predictions(texts: list[str], count: int) -> Dataset:
    """Each word with the words before it, in the first stories that have at least ten words.

    The words are those of NLTK's wordpunct_tokenize, which the authors use: the same pattern.
    """
    cut = tokenize("wordpunct")
    long = (words[:LENGTH] for words in map(cut, texts) if len(words) >= LENGTH)
    kept = list(islice(long, count))
    if len(kept) < count:
        raise ByheartError(
            f"the figure needs {count:,} stories of {LENGTH} words or more, but the data has only "
            f"{len(kept):,}."
        )
    return from_rows((words[:t], words[t]) for words in kept for t in range(1, LENGTH))
