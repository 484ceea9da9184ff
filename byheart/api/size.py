"""size: how big a model this data needs, to build it, to store it in a stock one, to train it.

Nothing is built. Where an answer is a rule and not a theorem, it says so.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..claims.result import Result
from ..constructions.stock.located import Located
from ..data.contexts import contexts, order_counts
from ..data.load import dataset_of, name_of
from ..errors import ByheartError
from ..machine.tables import Content, Tabular
from ..machine.watch import SILENT, Watch
from ..theory import Question, answers
from ..theory.facts import data_facts
from ..theory.information import ALLENZHU_2024, bits_needed, label_entropy, morris_2025
from ..theory.papers import cited
from .configure import configured, default_method, prepare, with_positions
from .reading import data_for_method, reading_of

# bits of networks for 80 to 858,365 bits of labels, within a fifth (benchmarks sizes)
OVERHEAD, ONCE = 40, 450
SECONDS = 1e-4  # of one CPU per context, the slowest measured: texts take more than short rows
# lower bounds for these very contexts and transformers, whatever their sizes
ABOUT = {("kajitsuka2025", "after Theorem 4.2: uniform attention"), ("madden2024", "Lemma 1")}
KNOWN = ("positions", "on_conflict")
MANY = 200_000  # contexts of a stock checkpoint that is not planned: its proof is quadratic


@dataclass(frozen=True)
class Size(Result):
    """One answer: numbers that are not known are None."""

    name: str
    parameters: tuple[int, ...]  # about so many; a range where rules of thumb differ
    bits: int | None  # of all of them
    neurons: int | None
    bytes: int | None  # of the weights on the disk
    seconds: float | None  # of one CPU, in order of magnitude
    source: str  # where the numbers are from, or why there are none
    applies: bool = True


@dataclass(frozen=True, repr=False)
class Sizes(Tabular, Result):
    """How big a model a dataset needs."""

    name: str
    sequences: int
    contexts: int
    labels: int
    conflicts: int
    exact: Size  # an exact network of the default method, proved on all of the data
    stock: Size  # a GPT-2 whose facts are held by a neuron each
    trained: Size  # what rules of thumb of trained models say
    least: Size  # the lower bound for these contexts
    distributions: Size | None = None  # the same where a context has several labels

    @property
    def lines(self) -> tuple[Size, ...]:
        every = (self.exact, self.stock, self.trained, self.least, self.distributions)
        return tuple(line for line in every if line is not None)

    def table(self) -> Content:
        head = ("", "parameters", "bits", "neurons", "bytes", "seconds", "source")
        rows: list[tuple[object, ...]] = []
        for line in self.lines:
            about = " to ".join(map(str, line.parameters))
            sizes = (line.bits, line.neurons, line.bytes, line.seconds)
            known = ("" if size is None else size for size in sizes)
            rows.append((line.name, about, *known, line.source))
        return f"{self.name}: {self.contexts:,} contexts", head, rows


def size(
    data: Any,
    *,
    positions: bool | None = None,
    on_conflict: str = "refuse",
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
    **reading: Any,
) -> Sizes:
    """How big a model a dataset needs: to build exactly, as a stock checkpoint, to train.

    Args:
        data: What is to be memorised: a Dataset, or whatever `load` reads.
        positions: As in `compile`.
        on_conflict: As in `compile`.
        loading: The options of `load` for a file.
        watch: Where progress is reported.
        **reading: The options of `load`, one by one.

    Returns:
        Four lines, and a fifth where contexts have several labels.

    Example:
        >>> import byheart
        >>> found = byheart.size([("The capital of France is", "Paris"), ("2 and 2 is", "4")])
        >>> found.exact.applies, found.stock.neurons
        (True, 2)
    """
    loading, _ = reading_of(loading, reading, KNOWN)
    watch.stage("loading")
    dataset = dataset_of(data, loading)
    watch.stage("counting")
    ordered = order_counts(dataset) if positions is None else positions
    facts, grouped = data_facts(dataset, positions=ordered), contexts(dataset, ordered)
    conflicts = int(grouped.conflicts(dataset).sum())
    entropy = label_entropy(np.bincount(dataset.labels[grouped.first]).tolist())
    found = {
        bound.quantity: bound
        for bound in answers(Question(facts))
        if (bound.paper, bound.item) in ABOUT and bound.applies and bound.value
    }
    worst = math.ceil(bits_needed(len(grouped), max(1, len(dataset.label_names))))

    def least(what: str, name: str, bits: int | None) -> Size:
        bound = found.get(f"parameters ({what})")
        source = "no theorem" if bound is None else cited(f"{bound.paper}, {bound.item}")
        source += "" if bits is None else "; bits by Remarks 4.4 and 4.6"
        fewest = () if bound is None else (math.ceil(bound.value or 0),)
        return Size(f"at least, {name}", fewest, bits, None, None, None, source)

    watch.stage("planning")
    rates = morris_2025(), ALLENZHU_2024
    trained = tuple(math.ceil(entropy / rate) for rate in rates)
    rule = f"rules of thumb: {rates[0]:g} bits each ({cited('morris2025')}), "
    rule += f"{rates[1]:g} ({cited('allenzhu2024')})"
    return Sizes(
        name_of(data),
        len(dataset),
        len(grouped),
        len(dataset.label_names),
        conflicts,
        _exact(dataset, entropy, ordered, on_conflict),
        _stock(data, len(dataset), loading or {}, on_conflict),
        Size("to train", trained, math.ceil(entropy), None, None, None, rule),
        least("labels", "for the worst labels", worst),
        least("distributions", "for distributions", None) if conflicts else None,
    )


def _exact(dataset: Any, entropy: float, positions: bool, on_conflict: str) -> Size:
    """The plan of the default method, and what networks of so many bits took."""
    from ..constructions.retrieval.build import estimate  # numba is slow

    method = default_method(dataset)
    try:
        chosen = with_positions(configured(method, None, 0, {"positions": positions}), dataset)
        prepared = prepare(chosen, dataset, on_conflict)
        parameters = estimate(*prepared, chosen)  # type: ignore[arg-type]
    except ByheartError as error:
        return Size("to build exactly", (), None, None, None, None, error.message, False)
    count = len(prepared[1])
    bits = round(entropy + OVERHEAD * math.sqrt(entropy) + ONCE)
    seconds = 1 + SECONDS * count
    source = f"{method}, estimated from its plan"
    return Size("to build exactly", (parameters or 1,), bits, None, bits // 8, seconds, source)


def _stock(data: Any, count: int, loading: Mapping[str, Any], on_conflict: str) -> Size:
    """The plan of a GPT-2, whose neurons are its contexts, for the text as its tokenizer has it."""
    name, chosen = "as a stock checkpoint", configured("gpt2", None, 0, {})
    assert isinstance(chosen, Located)
    try:
        if count > MANY:
            raise ByheartError(f"{count:,} contexts are too many for a neuron each.")
        own = {x: y for x, y in loading.items() if x not in ("unit", "window", "length")}
        dataset = data_for_method(data, chosen, own)
        held, grouped = prepare(chosen, chosen.prepared(dataset), on_conflict)
        plan, _, _ = chosen.planned(held, grouped)
    except ByheartError as error:
        return Size(name, (), None, None, None, None, error.message, False)
    d, m = plan.width, plan.hidden
    block = 4 * d * d + 4 * d + 2 * d * m + m + d + 4 * d  # attention, MLP and two norms
    parameters = (plan.vocabulary + plan.context_length) * d + plan.layers * block + 2 * d
    seconds = 1 + SECONDS * m + 2e-8 * m * m * plan.layers
    source = "gpt2 in float32, one neuron per token of an answer"
    return Size(name, (parameters,), None, m, 4 * parameters, seconds, source)
