"""Distributions: what follows each context, within a gap of the data's, over the real numbers."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...constructions.base import Built
from ...data.arrays import offsets
from ...data.contexts import Contexts, contexts
from ...data.dataset import Dataset
from ...data.targets import Divergences, Floats, Targets, Word, over
from ...errors import ByheartError
from ...machine.tables import plural, upto
from ...machine.words import quoted
from ...softmax.decoder import Decoder
from ..claim import Answer, Claim, Token, Words
from ..folder import decoder as files
from ..folder.card import distribution_card
from ..folder.strict import Object
from ..model import Model
from ..verification import FIT, OBSERVED, PROVED, REFUTED, SAMPLED, Fit, Judging, Verification
from .labels import cannot_read

if TYPE_CHECKING:
    from ..decoder_trace import DecoderTrace
    from ..folder.plain import Piece

BLOCK = 1 << 8  # questions asked at once
SHOWN = 1e-6  # the least probability that an answer lists


@dataclass(frozen=True)
class Distributions(Claim):
    """gap: the divergence from its target that no context may exceed, in nats."""

    gap: float

    name = "distributions"
    noun = counted = "contexts"
    conflicts = False
    complete = (PROVED, OBSERVED)
    labels = unknown = None

    @property
    def sentence(self) -> str:
        return f"Distributions within {self.gap:g} nats."

    @classmethod
    def of(cls, dataset: Dataset, built: Built) -> tuple[Words, "Distributions"]:
        return Words(dataset.kind, built.vocabulary), cls(built.gap)

    def number(self, network: Decoder) -> str:
        return network.number

    # --- asking

    def answers(self, model: Model, sequences: Sequence[Sequence[Token]]) -> list[Answer]:
        rows = [self.numbers(model, tokens) for tokens in sequences]
        found = self.distributions(model, [row for row in rows if row is not None])
        return [
            Answer(tokens, None, False) if row is None else self._answer(model, tokens, next(found))
            for tokens, row in zip(sequences, rows, strict=True)
        ]

    def distributions(self, model: Model, rows: Sequence[Sequence[int]]) -> Iterator[Floats]:
        """The probability of every token of the vocabulary to come next, as doubles.

        A float run gives them, or balls of more digits where rounding may have changed them.
        """
        from ...softmax.doubles import distributions
        from ...softmax.rounding import doubtful

        network = model.network
        for first in range(0, len(rows), BLOCK):
            part = rows[first : first + BLOCK]
            starts = offsets(np.array([len(row) for row in part]))
            tokens = np.concatenate(part)
            if network.number == "dyadic":  # it runs in balls anyway
                yield from distributions(network, tokens, starts)
                continue
            with np.errstate(all="ignore"):  # what overflows is in doubt
                found = distributions(network, tokens, starts)
            doubt = np.flatnonzero(doubtful(network, tokens, starts))
            if len(doubt):
                from ...softmax import arb  # flint is slow to import

                again = [part[i] for i in doubt.tolist()]
                starts = offsets(np.array([len(row) for row in again]))
                found[doubt] = arb.distributions(network, np.concatenate(again), starts)
            yield from found

    def _answer(self, model: Model, tokens: Sequence[Token], probabilities: Floats) -> Answer:
        """The likeliest token; of several, the first."""
        assert model.tokens is not None
        listed = np.flatnonzero(probabilities >= SHOWN)
        listed = listed[np.argsort(-probabilities[listed], kind="stable")]
        pairs = [(model.tokens[i], float(probabilities[i])) for i in listed]
        return Answer(tokens, model.tokens[int(probabilities.argmax())], None, pairs)

    def numbers(self, model: Model, tokens: Sequence[Token]) -> list[int] | None:
        """The numbers of a sequence's tokens, with the padding in front if the decoder has one."""
        if not 1 <= len(tokens) <= model.length:
            raise ByheartError(
                f"the model reads {upto(1, model.length, 'token')}, not {len(tokens)}."
            )
        padding = model.network.shape.padding
        found: list[int | None] = []
        for token in tokens:
            whole = isinstance(token, int | float) and math.isfinite(token) and token == int(token)
            if not (isinstance(token, str) if model.kind == "string" else whole):
                reads = "words" if model.kind == "string" else "integers"
                raise ByheartError(f"this model reads {reads}, not {token!r}.")
            place = model.places.get(token if model.kind == "string" else int(token))  # type: ignore[arg-type]
            found.append(None if place == padding else place)
        if None in found:
            return None
        filled = [] if padding is None else [padding] * (model.length - len(found))
        return [*filled, *found]  # type: ignore[list-item]

    def continues(self, model: Model, label: str | int) -> bool:
        """The vocabulary has the tokens of the data in front of its labels."""
        read = model.about["data"].get("vocabulary", len(model.places))
        return model.places[label] < read

    def trace(self, model: Model, tokens: Sequence[Token]) -> "DecoderTrace":
        from ..decoder_trace import trace

        return trace(model, tokens)

    # --- verifying

    def verify(self, model: Model, dataset: Dataset, how: Judging) -> Verification:
        """Enclose the distribution of every context and compare it with that of the data.

        Where that would take more than `prove_limit` seconds, a float run observes.
        """
        if dataset.every:
            raise ByheartError(
                "the model gives a label for the sequence, and the data has one for every token."
            )
        if dataset.length > model.length:
            raise ByheartError(
                f"the data has a sequence of {plural(dataset.length, 'token')}, "
                f"and the model reads at most {model.length}."
            )
        everything = wanted = self.targets(model, dataset)
        kept = how.chosen(len(wanted))
        if kept is not None:
            wanted = wanted.subset(kept)
        found = self._divergences(model.network, wanted, how)
        wrong = np.flatnonzero(~(found.values <= self.gap))  # nan is wrong, too

        def words(context: int) -> list[Word]:
            numbers = wanted.tokens[wanted.starts[context] : wanted.starts[context + 1]]
            return [model.labels[i] for i in numbers.tolist()]

        failures = tuple(
            f"context {quoted(words(i))}: the divergence is {_size(found, i, self.gap)}, "
            f"above the gap of {self.gap:g}"
            for i in wrong[:10].tolist()
        )
        rigorous = PROVED if len(wanted) == len(everything) else SAMPLED
        evidence = REFUTED if failures else rigorous if found.rigorous else OBSERVED
        above = float((wanted.weight * found.values).sum())
        entropy, predictions = wanted.entropy, int(wanted.weight.sum())
        fit = Fit(
            mean=above / predictions,
            max=float(found.values.max()),
            loss=entropy + above,
            entropy=entropy,
            accuracy=wanted.accuracy(found.likeliest),
            predictions=predictions,
        )
        correct = len(wanted) - len(wrong)
        return Verification(len(wanted), correct, evidence, found.engine, failures, fit)

    def _divergences(self, network: Decoder, wanted: Targets, how: Judging) -> Divergences:
        """Rigorous bounds if they are within the gap and the time, else those of a float run.

        Where that disagrees with rigorous bounds of some contexts, these are right.
        """
        from ...softmax import doubles
        from ...softmax.enclose import enclose

        found = enclose(network, wanted, self.gap, how.prove_limit, how.progress)
        if found is not None and (found.values <= self.gap).all():
            return found
        observed = doubles.divergences(network, wanted, how.progress)
        if found is None:
            return observed
        values = np.fmin(observed.values, found.values)  # where the run has nan, the bound alone
        return replace(observed, values=np.maximum(values, found.below), below=found.below)

    def targets(self, model: Model, dataset: Dataset) -> Targets:
        """What follows the contexts of a dataset, numbered as the decoder has them."""
        if dataset.kind != model.kind:
            raise ByheartError(
                f"the model reads {model.kind} tokens, and the data has {dataset.kind}s."
            )
        assert model.tokens is not None
        try:
            found = over(dataset, contexts(dataset, positions=True), model.tokens)
        except KeyError as error:
            raise ByheartError(f"{error.args[0]!r} is not in the model's vocabulary.") from None
        padding = model.network.shape.padding
        if padding is None:
            return found
        if padding in found.tokens or padding in found.following:
            raise ByheartError(
                f"{model.tokens[padding]!r} is reserved by this model and is not a word."
            )
        return found.padded(padding, model.length)

    def unfitting(self, model: Model, dataset: Dataset) -> str | None:
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

    def contexts(self, model: Model, dataset: Dataset) -> Contexts:
        return contexts(dataset, positions=True)

    def whole(self, dataset: Dataset) -> int:
        return len(contexts(dataset, positions=True))

    def facts(self, found: Verification | None) -> dict[str, Any]:
        """The gap and the fit; null where nothing was compared or a number is not finite."""
        if found is None or found.fit is None:
            return {"gap": self.gap, **dict.fromkeys(FIT)}
        sizes: dict[str, Any] = found.fit._asdict()
        infinite = {
            name: None for name in ("mean", "max", "loss") if not math.isfinite(sizes[name])
        }
        return {"gap": self.gap, **Fit(**sizes | infinite).json()}  # JSON has no infinity

    # --- the model folder

    @classmethod
    def stored_in(cls, given: Object) -> bool:
        return "decoder" in given.values

    @classmethod
    def read(cls, path: Path, text: dict[str, bytes], certificate: Object) -> tuple[Model, str]:
        certificate.expect("claim", cls.name)
        network, words, about, digest = files.read(path, text)
        return Model(network, words, cls(files.read_gap(certificate)), about), digest

    def config(self, model: Model) -> dict[str, Any]:
        return files.describe(model.network, model.kind)

    def weights(self, model: Model) -> list["Piece"]:
        return files.encode(model.network)

    def certificate(self) -> dict[str, Any]:
        return {"claim": self.name, "gap": repr(float(self.gap))}

    def card(self, model: Model, found: Verification, with_data: bool) -> str:
        return distribution_card(model, self.gap, found, with_data)


def _size(found: Divergences, context: int, gap: float) -> str:
    """A divergence above the gap, and how that is known."""
    if found.below[context] > gap:
        return f"at least {found.below[context]:.3g} nats"
    return f"{found.values[context]:.3g} nats in a float run"
