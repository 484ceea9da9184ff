"""Labels: the output for every sequence (or every token) is its label, in exact arithmetic."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...constructions.base import Built
from ...data.contexts import Contexts, contexts
from ...data.dataset import Dataset
from ...data.values import Fault, numbers
from ...errors import ByheartError
from ...exact.batch import Batch
from ...exact.evaluate import choose, evaluate
from ...exact.network import Embedding, Network, dyadic, short
from ...machine.tables import plural, upto
from ...machine.words import quoted
from ..claim import Answer, Claim, Label, Token, Words
from ..folder import config, weights
from ..folder.card import label_card
from ..folder.strict import Object, shown
from ..model import Model
from ..verification import PROVED, REFUTED, SAMPLED, Judging, Verification

if TYPE_CHECKING:
    from ..folder.plain import Piece
    from ..trace import Trace


@dataclass(frozen=True)
class Labels(Claim):
    """Output y is labels[y]; y = unknown means that the input was never seen.

    arithmetic  in which the network is exact: "dyadic" or already "float64"
    """

    labels: tuple[str | int, ...]
    unknown: int | None = None
    arithmetic: str = "dyadic"

    name = noun = "labels"
    counted = "sequences"
    conflicts = True
    complete = (PROVED,)
    sentence = "Labels."

    @classmethod
    def of(cls, dataset: Dataset, built: Built) -> tuple[Words, "Labels"]:
        tokens = dataset.tokens if isinstance(dataset.tokens, tuple) else None
        names = tuple(dataset.label_names[i] for i in built.order)
        return Words(dataset.kind, tokens), cls(names, built.unknown, built.number)

    def number(self, network: Network) -> str:
        return self.arithmetic

    # --- asking

    def answers(self, model: Model, sequences: Sequence[Sequence[Token]]) -> list[Answer]:
        return self._answers(model, sequences, partial(evaluate, model.network))

    def answering(self, model: Model) -> Callable[[Sequence[Token]], Answer]:
        """By the compiled kernels, for which the network is translated once."""
        from ...exact.limbs.engine import Evaluator, LimbsError

        quick = Evaluator(model.network)

        def answer(tokens: Sequence[Token]) -> Answer:
            try:
                return self._answers(model, [tokens], quick)[0]
            except LimbsError:
                return self.answers(model, [tokens])[0]

        return answer

    def _answers(
        self, model: Model, sequences: Sequence[Sequence[Token]], run: Callable[[Batch], Any]
    ) -> list[Answer]:
        rows = enumerate(self.numbers(model, tokens) for tokens in sequences)
        known = {i: row for i, row in rows if row is not None}
        batch = batch_of(model.network, list(known.values()))
        found = iter(run(batch) if known else ())
        answers = {}
        for i, row in known.items():
            outputs = list(islice(found, len(row) if model.every else 1))
            answers[i] = self.meaning(model, sequences[i], outputs)
        return [answers.get(i, Answer(x, None, False)) for i, x in enumerate(sequences)]

    def meaning(self, model: Model, tokens: Sequence[Token], outputs: Sequence) -> Answer:
        """The answer that the outputs of the network for one sequence stand for."""
        labels = [self.label(output) for output in outputs]
        known = None if self.unknown is None else None not in labels
        return Answer(tokens, labels if model.every else labels[0], known)

    def label(self, output: Fraction | int) -> Label:
        """The label that one output stands for; None if it stands for none."""
        whole = int(output) if output == int(output) else -1
        return self.labels[whole] if 0 <= whole < len(self.labels) else None

    def numbers(self, model: Model, tokens: Sequence[Token]) -> list | None:
        """The vectors of a sequence. ByheartError if it cannot be read."""
        reads = model.network.input
        fewest = 0 if reads.padding is None else 1
        if not fewest <= len(tokens) <= reads.length:
            raise ByheartError(
                f"the model reads {upto(fewest, reads.length, 'token')}, not {len(tokens)}."
            )
        if model.kind == "string":
            for token in tokens:
                if not isinstance(token, str):
                    raise ByheartError(f"this model reads words, not {token!r}.")
            places = [model.places.get(token) for token in tokens]  # type: ignore[arg-type]
            return None if None in places else [[place + 1] for place in places]  # type: ignore[operator]
        rows = [[token] if model.kind == "number" else list(token) for token in tokens]  # type: ignore[arg-type]
        for row in rows:
            if len(row) != reads.dimension:
                raise ByheartError(f"a token must have {reads.dimension} coordinates: {row}.")
            if not all(isinstance(x, int | float) and abs(x) < math.inf for x in row):
                raise ByheartError(f"a token must be made of finite numbers: {row}.")
        return None if _not_ids(model.network, _vectors(rows, reads.dimension)).any() else rows

    def continues(self, model: Model, label: str | int) -> bool:
        return self.numbers(model, [label]) is not None

    def trace(self, model: Model, tokens: Sequence[Token]) -> "Trace":
        from ..trace import trace

        return trace(model, tokens)

    # --- verifying

    def verify(self, model: Model, dataset: Dataset, how: Judging) -> Verification:
        """Evaluate every sequence in exact arithmetic and compare with its label or labels.

        A sequence with a label or a word that the model does not know is wrong, whatever the
        output. A network that claims to be exact in float64 is also evaluated in float64, with the
        proof that nothing is rounded.
        """
        network, whole = model.network, len(dataset)
        kept = how.chosen(whole)
        if kept is not None:
            dataset = dataset.subset(kept).occurring()  # only their tokens need to be evaluated
        if dataset.every != network.every:
            raise ByheartError(f"{_one_label(model, dataset)}.")
        if network.input.padding is not None and not dataset.lengths.all():
            first = int(np.argmin(dataset.lengths))
            raise ByheartError(
                f"sequence {first + 1} is empty, and the model reads at least 1 token."
            )
        too_long = dataset.lengths > network.input.length
        if too_long.any():
            first = int(np.argmax(too_long))
            raise ByheartError(
                f"sequence {first + 1} has {plural(int(dataset.lengths[first]), 'token')}, "
                f"and the model reads at most {network.input.length}."
            )
        batch, wanted = self.batch(model, dataset)
        network = _with_ids(network)[0]
        outputs = evaluate(network, batch, how.engine, how.progress)
        if not isinstance(outputs, np.ndarray):
            outputs = np.array([*outputs, None], dtype=object)[:-1]
        wrong = np.flatnonzero((wanted < 0) | (outputs != wanted))

        def place(prediction: int) -> str:
            sequence = int(dataset.owner[prediction])
            token = prediction - int(dataset.starts[sequence]) + 1
            return f"sequence {sequence + 1}" + (f", token {token}" if dataset.every else "")

        def answered(prediction: int) -> str:
            if wanted[prediction] < 0 and dataset.label(prediction) in self.labels:
                return "the network has no answer, because it does not know a token"
            output = outputs[prediction]
            return f"the network says {quoted(self.label(output))} (output {short(output)})"

        failures = tuple(
            f"{place(i)}: the label is {quoted(dataset.label(i))}, {answered(i)}"
            for i in wrong[:10].tolist()
        )
        if self.arithmetic == "float64":
            from ...exact.float64 import engine

            failures += engine.differences(network, batch, outputs)
        evidence = REFUTED if failures else PROVED if len(dataset) == whole else SAMPLED
        used = choose(how.engine, len(dataset))
        return Verification(len(wanted), len(wanted) - len(wrong), evidence, used, failures)

    def batch(self, model: Model, dataset: Dataset) -> tuple[Batch, np.ndarray]:
        """The sequences of a dataset as the network reads them, and the outputs it must give.

        -1: there is none, because the model does not know the label or a word.
        """
        reads, has = model.network.input.dimension, dataset.vectors.shape[1]
        if dataset.kind != model.kind or has != reads:
            raise ByheartError(
                f"the model reads {model.kind} tokens with {plural(reads, 'coordinate')}, the data "
                f"holds {dataset.kind} tokens with {has}."
            )
        vectors = dataset.vectors
        if model.kind == "string":
            places = model.places
            vectors = np.array([[places.get(w, -1) + 1] for w in dataset.tokens], dtype=np.int64)
        strange = _not_ids(model.network, vectors)
        if model.kind == "string":
            strange |= vectors[:, 0] == 0
        vectors = np.where(strange[:, None], 0, vectors)
        outputs = {label: i for i, label in enumerate(self.labels)}
        named = [outputs.get(name, -1) for name in dataset.label_names]
        wanted = np.array(named, dtype=np.int64)[dataset.labels]
        unread = dataset.lengths < _with_ids(model.network)[1]
        unread[np.repeat(np.arange(len(dataset)), dataset.lengths)[strange[dataset.ids]]] = True
        wanted[unread[dataset.owner]] = -1
        return Batch(vectors, dataset.ids, dataset.starts), wanted

    def unfitting(self, model: Model, dataset: Dataset) -> str | None:
        reads = model.network.input
        return cannot_read(model, dataset, reads.dimension, int(reads.padding is not None))

    def contexts(self, model: Model, dataset: Dataset) -> Contexts:
        reads = model.network.input
        return contexts(dataset, reads.positions, reads.padding is not None)

    def whole(self, dataset: Dataset) -> int:
        return len(dataset.labels)

    # --- the model folder

    @classmethod
    def stored_in(cls, given: Object) -> bool:
        return "decoder" not in given.values

    @classmethod
    def read(cls, path: Path, text: dict[str, bytes], certificate: Object) -> tuple[Model, str]:
        certificate.expect("claim", cls.name)
        settings = config.read(text["config.json"], f"{path}/config.json")
        network, digest = weights.read(path / "weights.safetensors", settings)
        given = Object.parse(text["vocabulary.json"], f"{path}/vocabulary.json")
        tokens: tuple[str, ...] | None = None
        if settings.kind == "string":
            listed = given.words("tokens")
            if not all(type(token) is str for token in listed):
                given.refuse("a token is not a string")
            if listed != sorted(set(listed)):
                given.refuse("the tokens are not distinct and sorted")
            tokens = tuple(listed)
        elif given.values.get("tokens", ()) is not None:
            given.refuse(f"tokens must be null for tokens of kind {settings.kind}")
        labels = given.words("labels")
        if {type(label) for label in labels} not in ({str}, {int}):
            given.refuse("the labels are not all strings or all integers")
        if not len(set(labels)) == len(labels) == settings.labels:
            given.refuse(f"config.json asks for {shown(settings.labels)} distinct labels")
        claim = cls(tuple(labels), settings.unknown, settings.number)
        return Model(network, Words(settings.kind, tokens), claim, settings.about), digest

    def config(self, model: Model) -> dict[str, Any]:
        return config.describe(model.network, model.kind, len(self.labels), self.unknown)

    def weights(self, model: Model) -> list["Piece"]:
        return [weights.encode(model.network, self.arithmetic)]

    def certificate(self) -> dict[str, Any]:
        return {"claim": self.name}

    def card(self, model: Model, found: Verification, with_data: bool) -> str:
        return label_card(model, found, with_data)


def batch_of(network: Network, rows: Sequence[Sequence]) -> Batch:
    """Rows of vectors as a batch, token numbers not shared."""
    flat = [vector for row in rows for vector in row]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return Batch(_vectors(flat, network.input.dimension), np.arange(len(flat)), starts)


def _vectors(rows: Sequence[Sequence], dimension: int) -> np.ndarray:
    """Vectors [V, d] of int64 or float64, whichever holds all numbers exactly."""
    flat = [int(x) if isinstance(x, int) else float(x) for row in rows for x in row]
    if not flat:
        return np.zeros((0, dimension), np.int64)
    try:
        return numbers(flat).reshape(len(rows), dimension)
    except Fault as fault:
        raise ByheartError(f"a token cannot be read: {fault}.") from None


def cannot_read(model: Model, dataset: Dataset, dimension: int, fewest: int) -> str | None:
    """Why a network that reads tokens of this dimension cannot read the data."""
    has = dataset.vectors.shape[1]
    if (dataset.kind, has) != (model.kind, dimension):
        return (
            f"the model reads {model.kind} tokens with {plural(dimension, 'coordinate')}, "
            f"the data holds {dataset.kind} tokens with {has}"
        )
    if dataset.every != model.every:
        return _one_label(model, dataset)
    if fewest and not dataset.lengths.all():
        return "the model reads at least 1 token, and the data has a sequence without any"
    if dataset.length > model.length:
        return (
            f"the model reads at most {plural(model.length, 'token')}, and the data has a sequence "
            f"with {dataset.length}"
        )
    return None


def _one_label(model: Model, dataset: Dataset) -> str:
    each, other = ("every token", "the sequence")[:: 1 if model.every else -1]
    return f"the model gives a label for {each}, and the data has one for {other}"


def _not_ids(network: Network, vectors: np.ndarray) -> np.ndarray:
    """Which tokens an embedding does not know."""
    first = network.layers[0]
    if not isinstance(first, Embedding):
        return np.zeros(len(vectors), bool)
    x = vectors[:, 0]
    return (x != np.floor(x)) | (x < 0) | (x >= first.weight.columns)


def _with_ids(network: Network) -> tuple[Network, int]:
    """A network without columns that its embedding does not know, and for which lengths it answers.

    A padding or an extra column that is no id is replaced by one. The network given has an answer
    for sequences of this many tokens or more, which do not need that column; the other has the same
    answer there.
    """
    first, reads, fewest = network.layers[0], network.input, 0
    if not isinstance(first, Embedding):
        return network, fewest
    ids = range(first.weight.columns)
    if reads.padding is not None and reads.padding[0].fraction not in ids:
        reads, fewest = replace(reads, padding=(dyadic(0),)), reads.length
    if reads.extra is not None and reads.extra[0].fraction not in ids:
        reads, fewest = replace(reads, extra=(dyadic(0),)), reads.length + 1
    return replace(network, input=reads), fewest
