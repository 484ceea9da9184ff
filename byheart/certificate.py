"""What is claimed about which weights and which data, and on what evidence."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .dataset import Dataset
from .errors import ByheartError
from .evaluate import choose, evaluate
from .model import Model

PROVED, SAMPLED, OBSERVED, REFUTED = "proved", "sampled", "observed", "refuted"


@dataclass(frozen=True)
class Verification:
    """The outcome of evaluating a network on data.

    evidence  "proved": exact arithmetic, every sequence right; "sampled": k of N, all right;
              "refuted": one is wrong; None: nothing was checked
    failures  the first wrong sequences, as sentences
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
) -> Verification:
    """Evaluate every sequence in exact arithmetic and compare with its label.

    A sequence with a label or a word that the model does not know is wrong, whatever the output.
    """
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
        f"sequence {i + 1}: the label is {dataset.label(i)!r}, "
        f"the network says {model.meaning([], outputs[i]).label!r} (output {outputs[i]})"
        for i in wrong[:10].tolist()
    )
    evidence = REFUTED if len(wrong) else PROVED
    used = choose(engine, len(dataset))
    return Verification(len(dataset), len(dataset) - len(wrong), evidence, used, failures)
