"""What is claimed about which weights and which data, and on what evidence.

A Model claims labels: its outputs, in exact arithmetic. A LanguageModel claims distributions: the
divergence of every context from its target, over the real numbers, is within the model's gap.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data.dataset import Dataset
from ..data.targets import Divergences, Targets
from ..errors import ByheartError
from ..exact.batch import Batch
from ..exact.evaluate import choose, evaluate
from .language_model import LanguageModel
from .model import Model

PROVED, SAMPLED, OBSERVED, REFUTED = "proved", "sampled", "observed", "refuted"


PROVE_LIMIT = 60.0  # seconds that proving distributions may take


class Fit(NamedTuple):
    """How well distributions are stored, in nats; bounds from above where that is proved.

    Only `max` is rounded upwards; mean and loss are sums in doubles of such bounds.

    mean, max    divergence of a context from its target, the mean weighted by count
    loss         cross-entropy of all predictions, summed (madden2024, Lemma 2)
    entropy      the least it can be
    accuracy     share of predictions that the likeliest token gets right
    predictions  how many there are
    """

    mean: float
    max: float
    loss: float
    entropy: float
    accuracy: float
    predictions: int | None = None

    def json(self) -> dict:
        return {
            "divergence": {"mean": self.mean, "max": self.max},
            "loss": {"total": self.loss, "entropy": self.entropy},
            "accuracy": self.accuracy,
        }


@dataclass(frozen=True)
class Verification:
    """The outcome of evaluating a network on data.

    checked   labels: one a sequence, or one a token; contexts, where distributions are claimed
    evidence  "proved": exact arithmetic or rigorous bounds, all right; "sampled": k of N, all
              right; "observed": a float run found all right; "refuted": one is wrong; None:
              nothing was checked
    failures  the first that are wrong, as sentences
    fit       how well distributions are stored
    """

    checked: int
    correct: int
    evidence: str | None
    engine: str
    failures: tuple[str, ...] = ()
    fit: Fit | None = None

    @property
    def holds(self) -> bool:
        return self.evidence in (PROVED, SAMPLED, OBSERVED)

    def json(self) -> dict:
        return {"checked": self.checked, "correct": self.correct, "evidence": self.evidence}


def verify(
    model: Model | LanguageModel,
    dataset: Dataset,
    engine: str = "auto",
    progress: Callable[[int], None] | None = None,
    sample: int | None = None,
    seed: int = 0,
    prove_limit: float = PROVE_LIMIT,
) -> Verification:
    """Evaluate every sequence in exact arithmetic and compare with its label or labels.

    A sequence with a label or a word that the model does not know is wrong, whatever the output.
    With `sample`, only so many sequences, chosen by the seed. A network that claims to be exact in
    float64 is also evaluated in float64, with the proof that nothing is rounded.

    A LanguageModel's distributions are enclosed and compared with those of every context; where
    that would take more than `prove_limit` seconds, they are observed in a float run.
    """
    if isinstance(model, LanguageModel):
        return _verify_distributions(model, dataset, progress, sample, seed, prove_limit)
    whole = len(dataset)
    if sample is not None and sample < whole:
        random = np.random.default_rng(seed)
        kept = np.sort(random.choice(whole, sample, replace=False))
        dataset = dataset.subset(kept).occurring()  # only their tokens need to be evaluated
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


def _verify_distributions(
    model: LanguageModel,
    dataset: Dataset,
    progress: Callable[[int], None] | None,
    sample: int | None,
    seed: int,
    prove_limit: float,
) -> Verification:
    if dataset.every:
        raise ByheartError(_unlike(every=False))
    if dataset.length > model.length:
        raise ByheartError(
            f"the data has a sequence of {dataset.length} tokens, "
            f"the model reads at most {model.length}"
        )
    everything = wanted = model.targets(dataset)
    if sample is not None and sample < len(wanted):
        random = np.random.default_rng(seed)
        wanted = wanted.subset(np.sort(random.choice(len(wanted), sample, replace=False)))
    found = _divergences(model, wanted, progress, prove_limit)
    wrong = np.flatnonzero(~(found.values <= model.gap))  # nan is wrong, too
    failures = tuple(
        f"{_named(model, wanted, i)}: the divergence is {found.values[i]:.3g} nats, "
        f"above the gap of {model.gap:g}"
        for i in wrong[:10].tolist()
    )
    whole = len(wanted) == len(everything)
    right = (PROVED if whole else SAMPLED) if found.rigorous else OBSERVED
    evidence = REFUTED if failures else right
    checked = len(wanted)
    fit = _fit(wanted, found)
    return Verification(checked, checked - len(wrong), evidence, found.engine, failures, fit)


def _divergences(
    model: LanguageModel,
    wanted: Targets,
    progress: Callable[[int], None] | None,
    prove_limit: float,
) -> Divergences:
    """Rigorous bounds if they are within the gap and the time, else what a float run gives."""
    from ..softmax import doubles as softmax
    from ..softmax.enclose import enclose

    found = enclose(model.network, wanted, model.gap, prove_limit, progress)
    if found is not None and (found.values <= model.gap).all():
        return found
    return softmax.divergences(model.network, wanted, progress)


def _fit(wanted: Targets, found: Divergences) -> Fit:
    above = float((wanted.weight * found.values).sum())
    entropy, predictions = wanted.entropy, int(wanted.weight.sum())
    return Fit(
        above / predictions,
        float(found.values.max()),
        entropy + above,
        entropy,
        wanted.accuracy(found.likeliest),
        predictions,
    )


def _named(model: LanguageModel, wanted: Targets, context: int) -> str:
    tokens = wanted.tokens[wanted.starts[context] : wanted.starts[context + 1]].tolist()
    return f"context {[model.tokens[i] for i in tokens]!r}"


def _rounded(model: Model, batch: Batch, outputs: np.ndarray) -> tuple[str, ...]:
    """Where float64 differs from exact arithmetic, for a model that says it does not."""
    if model.number != "float64":
        return ()
    from ..exact.float64 import engine as float64

    return float64.differences(model.network, batch, outputs)


def _unlike(every: bool) -> str:
    one, other = ("every token", "the sequence") if every else ("the sequence", "every token")
    return f"the model gives a label for {one}, and the data has one for {other}"


def _place(dataset: Dataset, prediction: int) -> str:
    sequence = int(dataset.owner[prediction])
    token = f", token {prediction - int(dataset.starts[sequence]) + 1}" if dataset.every else ""
    return f"sequence {sequence + 1}{token}"
