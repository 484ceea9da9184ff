"""What is claimed about which weights and which data, and on what evidence."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .contexts import occurring, subset
from .dataset import Dataset
from .errors import ByheartError
from .evaluate import choose, evaluate
from .evaluate.batch import Batch
from .model import Model

PROVED, SAMPLED, OBSERVED, REFUTED = "proved", "sampled", "observed", "refuted"


@dataclass(frozen=True)
class Verification:
    """The outcome of evaluating a network on data.

    checked   labels: one a sequence, or one a token
    evidence  "proved": exact arithmetic, every label right; "sampled": k of N, all right;
              "refuted": one is wrong; None: nothing was checked
    failures  the first wrong labels, as sentences
    """

    checked: int
    correct: int
    evidence: str | None
    engine: str
    failures: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.evidence in (PROVED, SAMPLED, OBSERVED)

    def json(self) -> dict:
        return {"checked": self.checked, "correct": self.correct, "evidence": self.evidence}


def verify(
    model: Model,
    dataset: Dataset,
    engine: str = "auto",
    progress: Callable[[int], None] | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Verification:
    """Evaluate every sequence in exact arithmetic and compare with its label or labels.

    A sequence with a label or a word that the model does not know is wrong, whatever the output.
    With `sample`, only so many sequences, chosen by the seed. A network that claims to be exact in
    float64 is also evaluated in float64, with the proof that nothing is rounded.
    """
    whole = len(dataset)
    if sample is not None and sample < whole:
        random = np.random.default_rng(seed)
        kept = np.sort(random.choice(whole, sample, replace=False))
        dataset = occurring(subset(dataset, kept))  # only their tokens need to be evaluated
    if dataset.every != model.network.every:
        raise ByheartError(_unlike(model.network.every))
    if model.network.input.padding is not None and not dataset.lengths.all():
        first = int(np.argmin(dataset.lengths))
        raise ByheartError(f"sequence {first + 1} is empty, and the model reads 1 token or more")
    too_long = dataset.lengths > model.network.input.length
    if too_long.any():
        first = int(np.argmax(too_long))
        raise ByheartError(
            f"sequence {first + 1} has {dataset.lengths[first]} tokens, "
            f"the model reads at most {model.network.input.length}"
        )
    batch, wanted = model.batch(dataset)
    outputs = evaluate(model.network, batch, engine, progress)
    if not isinstance(outputs, np.ndarray):
        outputs = np.array([*outputs, None], dtype=object)[:-1]
    wrong = np.flatnonzero((wanted < 0) | (outputs != wanted))
    failures = tuple(
        f"{_place(dataset, i)}: the label is {dataset.label(i)!r}, "
        f"the network says {model.label(outputs[i])!r} (output {outputs[i]})"
        for i in wrong[:10].tolist()
    )
    failures += _rounded(model, batch, outputs)
    evidence = REFUTED if failures else PROVED if len(dataset) == whole else SAMPLED
    used = choose(engine, len(dataset))
    return Verification(len(wanted), len(wanted) - len(wrong), evidence, used, failures)


def _rounded(model: Model, batch: Batch, outputs: np.ndarray) -> tuple[str, ...]:
    """Where float64 differs from exact arithmetic, for a model that says it does not."""
    if model.number != "float64":
        return ()
    from .evaluate import float64

    return float64.differences(model.network, batch, outputs)


def _unlike(every: bool) -> str:
    one, other = ("every token", "the sequence") if every else ("the sequence", "every token")
    return f"the model gives a label for {one}, and the data has one for {other}"


def _place(dataset: Dataset, prediction: int) -> str:
    sequence = int(dataset.owner[prediction])
    token = f", token {prediction - int(dataset.starts[sequence]) + 1}" if dataset.every else ""
    return f"sequence {sequence + 1}{token}"
