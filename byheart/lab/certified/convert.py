"""The network of a trial, trained again and made a model that claims labels or distributions.

Training is deterministic on one machine, so there a row of a measurement is enough to get its
network again. A decoder claims distributions within the gap that it reaches, other networks claim
labels with weights of as few bits as that allows.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...architectures import Architecture
from ...architectures.trainable import trainable
from ...claims.claim import Distributions, Labels, Words
from ...claims.record import Record, Search
from ...claims.verification import PROVE_LIMIT, Verification
from ...constructions.attention_only.goal import MORE, reached, rounded_up
from ...data.contexts import contexts, resolve, settled
from ...data.dataset import Dataset
from ...data.targets import Floats, Targets, targets
from ...errors import ByheartError
from ...machine.watch import SILENT, Watch
from ...models.model import Model
from ...models.sizes import counted
from ...models.verification import verify
from ...softmax.decoder import Decoder
from ..material import Material
from ..problem import Ints, Problem
from ..train import train
from ..trial import Row, Trial
from .folded import decoder
from .rounded import VECTORS, embedded, logits, network, rounded

SMALLEST_GAP = 1e-15  # nats: less is lost in the roundings of a run in doubles
LIKELIEST = 0.5  # nats; a divergence below log 2 means that the one label is the likeliest
DOUBLINGS = 64  # of the unembedding, at most
TRIES = 3  # of a gap, when rigorous bounds are above the first
FEWEST_BITS, MOST_BITS = 2, 48  # weights are multiples of 2^-bits


class Trained(NamedTuple):
    """The trial, its architecture, its row and its data; `seconds` that the training took."""

    trial: Trial
    architecture: Architecture
    row: Row
    dataset: Dataset
    seconds: float
    watch: Watch

    def record(self, on_conflict: str, notes: Sequence[str], **facts: int) -> Record:
        """How the network was trained: the trial's row, and facts of what was made of it."""
        paper, _, item = self.architecture.reference.partition(", ")
        row = {name: value for name, value in self.row.items() if name != "curve"}
        return Record(
            method="trained",
            paper=paper,
            item=item,
            options={"on_conflict": on_conflict},
            loading=dict(self.dataset.loading),
            search=Search(self.trial.seed, len(self.row["attempts"])),
            training={**row, **facts},
            notes=(f"{self.row['parameters']:,} parameters were trained", *notes),
        )

    def verified(self, model: Model, checked: Verification, seconds: float) -> Model:
        """The model with its verification; ByheartError if it fails."""
        if checked.refuted:
            raise ByheartError(
                f"the trained network keeps {checked.correct} of {checked.checked} claims and is "
                f"not returned: {checked.failures[0]}."
            )
        spent = {"build": self.seconds, "verify": seconds}
        return replace(model, record=replace(model.record, verification=checked, seconds=spent))


def model(
    trial: Trial, dataset: Dataset, on_conflict: str = "refuse", watch: Watch = SILENT
) -> tuple[Model, Row]:
    """The network of a trial as a verified model, and the row of its training.

    dataset      the data of the measurement: the trial has learnt its first sequences
    on_conflict  as in compile, for networks that store labels
    """
    material = Material(dataset, trial.architecture, trial.data.get("loss") == "squared")
    problem = material.of(trial)
    architecture = trial.architecture_for(problem)
    watch.note(f"training {trial.architecture} again")
    started = time.perf_counter()
    row, learner = train(trial, problem)
    seconds = time.perf_counter() - started
    part = material.part(trial.data["sequences"])
    trained = Trained(trial, architecture, row, part, seconds, watch)
    every = {**learner.named(), **learner.fixed}
    tensors = {name: tensor.detach().numpy().copy() for name, tensor in every.items()}
    if not trainable(trial.architecture).decoder:
        return labels(trained, tensors, problem, on_conflict), row
    return distributions(trained, decoder(architecture, tensors)), row


def distributions(trained: Trained, decoder: Decoder, prove_limit: float = PROVE_LIMIT) -> Model:
    """The decoder with the largest divergence that it reaches as its gap, rounded up, verified."""
    dataset = trained.dataset
    grouped = contexts(dataset, positions=True)
    wanted = targets(dataset, grouped)
    decoder, doubled = surer(decoder, wanted)
    worst = reached(decoder, wanted)
    if not math.isfinite(worst):
        raise ByheartError("the trained network gives no distributions: its training diverged.")
    record = trained.record("refuse", ())
    if doubled:
        note = (
            f"output.weight is {2**doubled} times what was trained: the likeliest tokens are the "
            "same, and the gap proves them"
        )
        record = trained.record("refuse", (note,), output_times=2**doubled)
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


def labels(
    trained: Trained, tensors: Mapping[str, NDArray], problem: Problem, on_conflict: str
) -> Model:
    """The network on the coarsest grid of weights on which all labels are correct, proved."""
    multiplied = VECTORS in tensors
    tensors = embedded(tensors)
    dataset = resolve(trained.dataset, contexts(trained.dataset, positions=False), on_conflict)
    grouped = contexts(dataset, positions=False)
    answer = answers(problem, on_conflict)
    margin = margins(logits(tensors, problem), answer, problem.squared)
    correct = int((margin > 0).sum())
    if correct < len(margin):
        raise ByheartError(
            f"the trained network has the labels of {correct:,} of {len(margin):,} contexts, so "
            "they cannot be certified; train it longer, or a larger one."
        )
    for bits in range(FEWEST_BITS, MOST_BITS + 1):
        exact = rounded(tensors, bits, problem.lengths)
        least = margins(logits(exact, problem), answer, problem.squared).min(initial=math.inf)
        if least <= 0:  # a run in doubles gets a label wrong
            continue
        grid = f"multiples of 2^-{bits}"
        trained.watch.note(f"verifying with weights that are {grid}")
        notes = [f"weights are rounded from float32 to {grid}, W_O to a grid as fine"]
        if multiplied:
            notes.append("E_in and the fixed vectors of words are multiplied beforehand")
        record = trained.record(on_conflict, notes, bits=bits)
        record = replace(record, conflicts=settled(trained.dataset, dataset))
        # Words and labels are those of the training, also where sequences are dropped.
        words = trained.dataset.tokens
        model = Model(
            network(exact, trained.dataset, slope_for(float(least))),
            Words(dataset.kind, words if isinstance(words, tuple) else None),
            Labels(trained.dataset.label_names),
            record,
        )
        model = replace(model, record=counted(model, dataset, grouped))
        started = time.perf_counter()
        checked = verify(model, dataset)
        if not checked.refuted:
            return trained.verified(model, checked, time.perf_counter() - started)
    raise ByheartError(
        f"the trained network gets labels wrong when its weights are rounded to 2^-{MOST_BITS}, "
        "so they cannot be certified; train it longer, or a larger one."
    )


def slope_for(margin: float) -> int:
    """The k for which 2^k margin is 2 or more: what a comparison needs, with room."""
    return 1 - math.floor(math.log2(margin)) if math.isfinite(margin) else 0


def answers(problem: Problem, on_conflict: str) -> Ints:
    """The label of each context, the most frequent one; -1 where conflicts are dropped."""
    order = np.lexsort((problem.answer, -problem.count, problem.context))
    _, first, many = np.unique(problem.context[order], return_index=True, return_counts=True)
    likeliest = problem.answer[order][first]
    return np.where(many > 1, -1, likeliest) if on_conflict == "drop" else likeliest


def tied(problem: Problem) -> bool:
    """Whether a context has two labels that are equally frequent, and none that is more so."""
    order = np.lexsort((problem.count, problem.context))  # the most frequent of each comes last
    context, count = problem.context[order], problem.count[order]
    last = np.append(context[1:] != context[:-1], True)[1:]
    return bool((last & (context[1:] == context[:-1]) & (count[1:] == count[:-1])).any())


def margins(logits: Floats, answer: Ints, squared: bool) -> Floats:
    """How far the answer's logit is above all others, or one output on its side of 0."""
    logits, answer = logits[answer >= 0], answer[answer >= 0]
    if squared:
        return logits[:, 0] * (2 * answer - 1)
    rows = np.arange(len(answer))
    others = logits.copy()
    others[rows, answer] = -np.inf
    return logits[rows, answer] - others.max(axis=1)
