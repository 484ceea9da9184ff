"""The sweeps behind the figures of kajitsuka2025, their data, and sentences of their captions.

The paper reads the output at token 0 and the architecture here at the last token, so sequences are
reversed: the token that is read is the paper's, and uniform attention knows no order.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...data.dataset import Dataset
from ...data.load import from_rows
from ...data.readers.text import WORD
from ...lab.protocol import Protocol, protocol
from ...lab.sweeps.sweep import Axis, Sweep
from ...lab.trial import Criterion, Row
from .. import data
from ..figure import Part

ARCHITECTURE = "kajitsuka2025"
LENGTH = 8  # words per sequence
THRESHOLD = 0.01  # the paper's epsilon, above the least loss that the labels allow
ENOUGH = 0.9 * THRESHOLD  # a search may stop here: a smaller loss would change no answer
EMBEDDING = "embedding.weight"
KINDS = ("trained", "frozen", "paper")  # embeddings learnt, frozen, and the authors' protocol


def multinli(source: data.Source, sequences: int) -> Dataset:
    """The first pairs, premise and hypothesis joined, truncated to 8 words."""
    pairs = data.pairs(source)[:sequences]
    return cut((f"{premise} {hypothesis}", label) for label, premise, hypothesis in pairs)


def imdb(source: data.Source, sequences: int) -> Dataset:
    """The first reviews, truncated to 8 words."""
    return cut((text, label) for label, text in data.reviews(source)[:sequences])


def cut(texts: Iterable[tuple[str, str]]) -> Dataset:
    """Texts with labels as sequences of at most 8 words, reversed."""
    return from_rows((re.findall(WORD, text)[:LENGTH][::-1], label) for text, label in texts)


def part(
    label: str,
    dataset: Dataset,
    axes: tuple[Axis, ...],
    how: Protocol,
    seeds: int = 1,
    find: bool = False,
    dimension: int = 2,
    **options: str,
) -> Part:
    """A sweep over blocks: `layers` of them before attention, and as many after it."""
    sweep = Sweep(
        architecture=ARCHITECTURE,
        sizes={"dimension": dimension},
        axes=axes,
        data={"sha256": dataset.sha256(), **options},
        protocol=how,
        criterion=Criterion("loss", THRESHOLD),
        seeds=seeds,
        find=find,
    )
    return Part(label, sweep, dataset)


def protocol_of(
    kind: str, curve: int = 0, stop: float | None = None, trials: int = 0, steps: int | None = None
) -> Protocol:
    """The protocol of a kind of part.

    stop    where a training ends: close enough to the least loss
    trials  of the search for hyper-parameters in the authors' protocol
    steps   of a single attempt, which replaces the protocol's attempts
    """
    found = protocol(ARCHITECTURE, "paper" if kind == "paper" else "fast")
    if steps is not None:
        found = replace(found, attempts=(replace(found.attempts[0], steps=steps),))
    if kind == "paper" and found.search is not None:
        return replace(found, curve=curve, search=replace(found.search, trials=trials))
    frozen = (EMBEDDING,) if kind == "frozen" else ()
    return replace(found, curve=curve, stop=stop or found.stop, frozen=frozen)


def conflicts(rows: Sequence[Row]) -> str:
    """How contradictory the labels of the largest dataset are, in sentences."""
    row = max(rows, key=lambda row: row["predictions"])
    count, best = row["predictions"], row["best_accuracy"]
    least = row["entropy"] / count
    return (
        f"The network sees which word is first, but no other order: {count:,} sequences are "
        f"{row['contexts']:,} contexts, and {round(count * (1 - best))} have another label than "
        f"the majority of their context. So no function of the context has an accuracy above "
        f"{best:.3f}, or a mean loss below {least:.4f}."
    )


def costs(rows: Sequence[Row]) -> str:
    seconds = sum(row["seconds"] for row in rows)
    return f"Ours: {len(rows)} trainings, {seconds:,.0f} CPU-seconds in all."


DIFFERENCES = (
    "Differs from the paper: words are tokens, because its tokenizer is not named; another sample "
    "of the data; the head size is 2. The paper does not say whether embeddings are trained: "
    "`trained` learns them, `frozen` keeps their random initial values. The protocol fast "
    "restarts with more steps and decays the rate; `paper` is AdamW for 1,000 steps with rate and "
    "warm-up by Optuna, and ends at the first of Optuna's trials that reaches the criterion, "
    "where the authors take the best of two (Figures 1 and 2) or of ten (Figure 3)."
)
