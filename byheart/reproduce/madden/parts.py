"""What is trained for Figure 1: a fine grid with our protocol, some cells with the authors' own."""

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

LENGTH = 10  # words of a story that count; each but the first is predicted
PREDICTED = LENGTH - 1  # rows of the dataset that a story gives
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
    if settings.quick:
        dataset = predictions(stories(settings.data), max(QUICK_STORIES))
        return [_part(FAST, dataset, QUICK_STORIES, QUICK_NEURONS, settings)]
    dataset = predictions(stories(settings.data), max(STORIES))
    return [
        _part(FAST, dataset, STORIES, NEURONS, settings),
        *(
            _part(f"{how}-{n}", dataset, (n,), neurons, settings, seeds)
            for how, seeds in ((FAST, SEEDS), (PAPERS, 1))
            for n, neurons in PAPER.items()
        ),
    ]


def _part(
    label: str, dataset: Dataset, counts: tuple[int, ...], neurons: tuple[int, ...], own: Settings,
    seeds: int = 1,
) -> Part:  # fmt: skip
    name = label.partition("-")[0]
    sweep = Sweep(
        "madden2024",
        {"dimension": 16},
        ((SEQUENCES, tuple(n * PREDICTED for n in counts)), ("neurons", neurons)),
        {"sha256": dataset.sha256()},
        protocol("madden2024", name),
        CRITERION,
        own.repeats(seeds),
    )
    return Part(label, sweep, dataset)


def predictions(texts: list[str], count: int) -> Dataset:
    """Each word after the words before it, in the first stories that have ten words or more.

    The words are those of NLTK's wordpunct_tokenize, which the authors use: the same pattern.
    """
    cut = tokenize("word", None)
    long = (words[:LENGTH] for words in map(cut, texts) if len(words) >= LENGTH)
    kept = list(islice(long, count))
    if len(kept) < count:
        raise ByheartError(
            f"the figure needs {count:,} stories of {LENGTH} words or more, and the data has "
            f"{len(kept):,}."
        )
    return from_rows((words[:t], words[t]) for words in kept for t in range(1, LENGTH))
