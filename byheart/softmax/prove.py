"""The proof that a decoder is within the gap: rigorous bounds, or a float run that observes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from ..claims.kind import Progress, Runtime
from ..claims.model import ModelData, cannot_read
from ..claims.verification import OBSERVED, PROVED, REFUTED, SAMPLED, Fit, Judging, Verification
from ..data import contexts as grouping
from ..data.arrays import batches
from ..data.contexts import Contexts
from ..data.dataset import Dataset
from ..data.targets import Divergences, Targets, Word, over
from ..exact.prove import reads as reads
from ..exact.prove import recorded as recorded
from ..exact.prove import texts as texts
from ..machine.words import quoted
from .answer import DecoderModel
from .decoder import Decoder


def contexts(model: ModelData, dataset: Dataset) -> Contexts:
    return grouping.contexts(dataset, positions=True)


def whole(dataset: Dataset) -> int:
    return len(grouping.contexts(dataset, positions=True))


def verify(model: DecoderModel, dataset: Dataset, how: Judging) -> Verification:
    """Enclose every context's distribution; beyond `prove_limit` seconds, a float run observes."""
    gap, wanted = model.claim.gap, targets_of(model, dataset)
    bounded = partial(_divergences, model.network, gap=gap, how=how)
    return judged(wanted, gap, how, bounded, model.labels)


def judged(
    everything: Targets,
    gap: float,
    how: Judging,
    divergences: Callable[[Targets], Divergences],
    words: Sequence[Word],
) -> Verification:
    """Whether all contexts, or those of the sample, are within the gap."""
    kept = how.chosen(len(everything))
    wanted = everything if kept is None else everything.subset(kept)
    found = divergences(wanted)
    wrong = np.flatnonzero(~(found.values <= gap))  # nan is wrong, too

    failures = []
    for i in wrong[:10].tolist():
        known = f"{found.values[i]:.3g} nats in a float run"
        if found.below[i] > gap:
            known = f"at least {found.below[i]:.3g} nats"
        context = quoted([words[token] for token in wanted.sequences[i].tolist()])
        failures.append(f"context {context}: the divergence is {known}, above the gap of {gap:g}")
    rigorous = PROVED if len(wanted) == len(everything) else SAMPLED
    evidence = REFUTED if failures else rigorous if found.rigorous else OBSERVED
    above = float((wanted.weight * found.values).sum())
    entropy, predictions = wanted.entropy, int(wanted.weight.sum())
    nats = above / predictions, float(found.values.max()), entropy + above, entropy
    fit = Fit(*nats, wanted.accuracy(found.likeliest), predictions)
    correct = len(wanted) - len(wrong)
    return Verification(len(wanted), correct, evidence, found.engine, tuple(failures), fit)


def _divergences(network: Decoder, wanted: Targets, gap: float, how: Judging) -> Divergences:
    """Rigorous bounds if they are within the gap and the time, else those of a float run.

    Where that disagrees with rigorous bounds of some contexts, these are right.
    """
    from . import doubles
    from .enclose import enclose

    found = enclose(network, wanted, gap, how.prove_limit, how.progress)
    if found is not None and (found.values <= gap).all():
        return found
    observed = doubles.divergences(network, wanted, how.progress)
    if found is None:
        return observed
    values = np.fmin(observed.values, found.values)  # where the run has nan, the bound alone
    return replace(observed, values=np.maximum(values, found.below), below=found.below)


def targets_of(model: DecoderModel, dataset: Dataset) -> Targets:
    """What follows the contexts of a dataset that fits, numbered as the decoder has them."""
    assert model.tokens is not None
    targets = over(dataset, contexts(model, dataset), model.tokens)
    padding = model.network.shape.padding
    return targets if padding is None else targets.padded(padding, model.length)


def unfitting(model: DecoderModel, dataset: Dataset) -> str | None:
    reason = cannot_read(model, dataset, dimension=1, fewest=1)
    if reason:
        return reason
    assert model.tokens is not None
    padding = model.network.shape.padding
    known = {word for i, word in enumerate(model.tokens) if i != padding}
    tokens = dataset.tokens if dataset.kind == "string" else dataset.vectors[:, 0].tolist()
    for word in (*tokens, *dataset.label_names):
        if word not in known:  # 2.0 equals 2
            return f"the data has {word!r}, which is not in the model's vocabulary"
    return None


def observed(
    model: DecoderModel, dataset: Dataset, runtime: Runtime, progress: Progress
) -> tuple[int, list[str]]:
    """The distribution after every context: its divergence from that of the data."""
    from . import doubles

    gap = model.claim.gap
    assert model.tokens is not None
    assert runtime.run is not None
    targets, width = targets_of(model, dataset), model.network.width
    rows = [targets.tokens[a:b] for a, b in pairwise(targets.starts.tolist())]
    widest = max(model.network.shape.neurons, len(model.tokens))
    failures = []
    for part in batches(rows, lambda length: max(widest, length * width)):
        logits = runtime.run(np.stack([rows[i] for i in part]))
        values = doubles.divergence(logits, targets.subset(np.array(part)))
        for i, value in zip(part, values.tolist(), strict=True):
            if not value <= gap:  # nan is wrong, too
                words = [model.tokens[x] for x in rows[i].tolist()]
                far = f"the divergence is {value:.3g} nats, above the gap of {gap:g}"
                failures.append(f"context {words!r}: {far}")
        if progress is not None:
            progress(len(part))
    return len(targets), failures
