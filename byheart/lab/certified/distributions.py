"""A folded decoder as a model that claims distributions, within the gap that it reaches."""

import math
import time
from dataclasses import replace

from ...claims.claim import Distributions, Words
from ...constructions.attention_only.goal import MORE, reached, rounded_up
from ...data.contexts import contexts
from ...data.targets import Targets, targets
from ...errors import ByheartError
from ...models.model import Model
from ...models.sizes import counted
from ...models.verification import verify
from ...softmax.decoder import Decoder
from .trained import Trained

SMALLEST_GAP = 1e-15  # nats: less is lost in the roundings of a run in doubles
LIKELIEST = 0.5  # nats; a divergence below log 2 means that the one label is the likeliest
DOUBLINGS = 64  # of the unembedding, at most
TRIES = 3  # of a gap, when rigorous bounds are above the first


def distributions(trained: Trained, decoder: Decoder, prove_limit: float) -> Model:
    """The decoder with the largest divergence that it reaches as its gap, rounded up, verified."""
    dataset = trained.dataset
    grouped = contexts(dataset, positions=True)
    wanted = targets(dataset, grouped)
    decoder, doubled = surer(decoder, wanted)
    worst = reached(decoder, wanted)
    if not math.isfinite(worst):
        raise ByheartError("the trained network gives no distributions: its training diverged.")
    record = trained.record(dataset, "refuse")
    if doubled:
        note = (
            f"output.weight is {2**doubled} times what was trained: the likeliest tokens are the "
            "same, and the gap proves them"
        )
        training = {**(record.training or {}), "output_times": 2**doubled}
        record = replace(record, training=training, notes=(*record.notes, note))
    trained.watch.note("verifying")
    started = time.perf_counter()
    for _ in range(TRIES):
        gap = rounded_up(max(SMALLEST_GAP, worst * (1 + MORE)))
        model = Model(decoder, Words(dataset.kind, wanted.vocabulary), Distributions(gap), record)
        model = replace(model, record=counted(model, dataset, grouped))
        checked = verify(model, dataset, prove_limit=prove_limit)
        if not checked.refuted or checked.fit is None or not math.isfinite(checked.fit.max):
            break
        worst = checked.fit.max  # a run in doubles may be off where weights are large
    return trained.verified(model, checked, time.perf_counter() - started)


def surer(decoder: Decoder, wanted: Targets) -> tuple[Decoder, int]:
    """The decoder with output.weight doubled until its labels can be proved, and how often.

    Only where every context has one label, and it is the likeliest: training may stop as soon as
    that is so. Doubling keeps the order of the logits and brings every divergence below log 2; a
    token with more than half of the probability is the likeliest. Otherwise 0 times.
    """
    best, certain = decoder, bool((wanted.support == 1).all())
    for doubled in range(DOUBLINGS if certain else 0):
        if reached(best, wanted) <= LIKELIEST:
            return best, doubled
        best = Decoder(best.shape, {**best.tensors, "output.weight": 2 * best["output"]})
    return decoder, 0
