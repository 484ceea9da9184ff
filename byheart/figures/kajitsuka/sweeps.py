"""The sweeps behind the figures of kajitsuka2025, and their data.

The architecture here reads its output at the last token, so sequences are reversed where it is to
be read at the first: uniform attention knows no other order.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from ...data.dataset import Dataset
from ...data.load import from_rows
from ...data.readers.text import WORD
from ...lab.protocol import Protocol, protocol
from ...lab.sweeps.sweep import Axis, Sweep
from ...lab.trial import Criterion
from .. import data
from ..figure import Part, make_part

ARCHITECTURE = "kajitsuka2025"
LENGTH = 8  # words per sequence
SPECIAL = "[CLS]"  # no word: brackets are tokens of their own
CONTINUED = "##"  # before a piece that does not begin a word
THRESHOLD = 0.01  # the paper's epsilon, above the least loss that the labels allow
ENOUGH = 0.9 * THRESHOLD  # a search may stop here: a smaller loss would change no answer
EMBEDDING = "embedding.weight"
KINDS = ("trained", "frozen", "paper")  # embeddings learnt, frozen, and the authors' protocol


def multinli(source: data.Source, sequences: int, read: str = "first", letters: int = 0) -> Dataset:
    """The first pairs of different premises, premise and hypothesis joined, cut to 8 tokens."""
    pairs = data.pairs(source)[:sequences]
    texts = ((f"{premise} {hypothesis}", label) for label, premise, hypothesis in pairs)
    return cut(texts, read, letters)


def imdb(source: data.Source, sequences: int) -> Dataset:
    return cut((text, label) for label, text in data.reviews(source)[:sequences])


def cut(texts: Iterable[tuple[str, str]], read: str = "first", letters: int = 0) -> Dataset:
    """Texts with labels as sequences of at most 8 tokens, of which the last is read out.

    read     the "first" token of the text, the "last" one, or a "special" one before the first 7
    letters  of a token at most; 0: tokens are words
    """

    def tokens(text: str) -> list[str]:
        special = [SPECIAL] if read == "special" else []
        first = [*special, *pieces(text, letters)][:LENGTH]
        return first if read == "last" else first[::-1]

    return from_rows((tokens(text), label) for text, label in texts)


def pieces(text: str, letters: int) -> list[str]:
    """The words, or lower-case pieces of them, as many tokenizers cut rare words."""
    if not letters:
        return re.findall(WORD, text)
    return [
        (CONTINUED if begin else "") + word[begin : begin + letters]
        for word in re.findall(WORD, text.lower())
        for begin in range(0, len(word), letters)
    ]


def part(
    label: str,
    dataset: Dataset,
    axes: tuple[Axis, ...],
    how: Protocol,
    seeds: int = 1,
    find: bool = False,
    dimension: int = 2,
    coordinates: int = 0,
    **options: str,
) -> Part:
    """A sweep over blocks: `layers` of them before attention, and as many after it."""
    sizes = {"dimension": dimension} | ({"coordinates": coordinates} if coordinates else {})
    near = Criterion("loss", THRESHOLD)
    sweep = Sweep(ARCHITECTURE, sizes, axes, {}, how, near, seeds, find)
    return make_part(label, dataset, sweep, **options)


def protocol_of(
    kind: str, curve: int = 0, stop: float | None = None, trials: int = 0, steps: int | None = None
) -> Protocol:
    """The protocol of a kind of part.

    stop    where a training ends: close enough to the least loss
    trials  of the search for hyper-parameters in the authors' protocol
    steps   of a single attempt, which replaces the protocol's attempts
    """
    how = replace(protocol(ARCHITECTURE, "paper" if kind == "paper" else "fast"), curve=curve)
    if steps is not None:
        how = replace(how, attempts=(replace(how.attempts[0], steps=steps),))
    if kind == "paper" and how.search is not None:
        return replace(how, search=replace(how.search, trials=trials))
    return replace(how, stop=stop or how.stop, frozen=(EMBEDDING,) if kind == "frozen" else ())
