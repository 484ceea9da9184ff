"""Recites: a stock checkpoint whose likeliest next token is that of the data, in every execution.

Executions are those of checker/FORMAT.md, section 10. In float32 the claim is proved by a running
error bound; for 16-bit types a run is observed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...constructions.base import Built
from ...data.contexts import Contexts, contexts
from ...data.dataset import Dataset
from ...errors import ByheartError
from ...stock.checkpoint import TYPES, Checkpoint
from ...stock.holders import Holder, Neuron, shortened
from ...stock.texts import is_corpus, next_tokens
from ...stock.tokens import Vocabulary, vocabulary_of
from ..claim import Answer, Claim, Token, Words
from ..folder import stock as files
from ..folder.card import recital_card
from ..folder.names import STOCK
from ..folder.strict import Object
from ..model import Model
from ..verification import OBSERVED, PROVED, REFUTED, SAMPLED, Judging, Verification

if TYPE_CHECKING:
    from ..folder.plain import Piece
    from ..stock_trace import StockTrace

TEXT, TOKEN = "text", "token"  # what a label of the data is
LONGEST = 256  # tokens of an answer
PLAIN = (PROVED, OBSERVED)


@dataclass(frozen=True, eq=False)
class Recites(Claim):
    """dtype    the type of the weights
    end      the token that ends a text
    labels_are  "text": an answer of one or more tokens, and the end; "token": the next token
    holders  which neurons answer which context
    always   neurons that are on at every context
    """

    dtype: str
    end: str
    labels_are: str
    holders: tuple[Holder, ...]
    always: tuple[Neuron, ...] = ()

    name = "recites"
    noun = counted = "sequences"
    conflicts = True
    complete = PLAIN
    files = STOCK
    labels = unknown = None

    @property
    def sentence(self) -> str:
        return f"The likeliest next token, in {self.dtype}."

    @classmethod
    def of(cls, dataset: Dataset, built: Built) -> tuple[Words, "Recites"]:
        assert dataset.tokenizer is not None
        network: Checkpoint = built.network
        end = vocabulary_of(dataset.tokenizer, None, network.family.rms).end
        kind = TOKEN if is_corpus(dataset) else TEXT
        words = Words("string", tuple(map(str, built.vocabulary)))
        return words, cls(network.dtype, end, kind, built.holders, built.always)

    def number(self, network: Checkpoint) -> str:
        return network.dtype

    def reads(self, model: Model, dataset: Dataset) -> Dataset:
        """The data as next tokens; a file of tokens, such as data.jsonl, holds them already."""
        if dataset.tokenizer is None:
            return dataset
        begins = model.network.family.rms
        own = vocabulary_of(dataset.tokenizer, dataset.loading.get("tokenizer"), begins)
        return next_tokens(dataset, own, begins)

    # --- asking

    def numbers(self, model: Model, tokens: Sequence[Token]) -> list[int] | None:
        """The numbers of the tokens, with the one that begins a text before them."""
        found: list[int | None] = []
        for token in tokens:
            if not isinstance(token, str):
                raise ByheartError(f"this model reads tokens of text, not {token!r}.")
            found.append(model.places.get(token))
        if None in found:
            return None
        end = model.places[self.end]
        if model.network.family.rms and found[:1] != [end]:
            found = [end, *found]
        if not 1 <= len(found) <= model.length:
            raise ByheartError(f"the model reads 1 to {model.length} tokens, not {len(found)}.")
        return found  # type: ignore[return-value]

    def answers(self, model: Model, sequences: Sequence[Sequence[Token]]) -> list[Answer]:
        """The next token, or the text up to the end; the end at once means an unknown prompt."""
        from ...stock.forward import answers

        rows = [self.numbers(model, tokens) for tokens in sequences]
        growing = {i: row for i, row in enumerate(rows) if row is not None}
        spoken: dict[int, list[int]] = {i: [] for i in growing}
        end = model.places[self.end]
        assert model.tokens is not None
        for _ in range(LONGEST if self.labels_are == TEXT else 1):
            if not growing:
                break
            found = answers(model.network, list(growing.values()))
            for i, token in zip(list(growing), found.tolist(), strict=True):
                spoken[i].append(token)
                growing[i] = [*growing[i], token]
                if token == end or len(growing[i]) > model.length:
                    del growing[i]
        result = []
        for i, tokens in enumerate(sequences):
            said = [str(model.tokens[x]) for x in spoken.get(i, ())]
            if not said or said == [self.end]:
                result.append(Answer(tokens, None, False))
            elif self.labels_are == TOKEN:
                result.append(Answer(tokens, said[0], None))
            else:
                result.append(
                    Answer(tokens, self.vocabulary(model).text(said).removeprefix(" "), None)
                )
        return result

    def vocabulary(self, model: Model) -> Vocabulary:
        content = model.about.get("tokenizer")
        assert isinstance(content, str)
        return Vocabulary(content, self.end)

    def continues(self, model: Model, label: str | int) -> bool:
        return self.labels_are == TOKEN and label in model.places and label != self.end

    def trace(self, model: Model, tokens: Sequence[Token]) -> "StockTrace":
        from ..stock_trace import trace

        return trace(model, tokens)

    # --- verifying

    def verify(self, model: Model, dataset: Dataset, how: Judging) -> Verification:
        """Bound the margin of every sequence, or observe it in the types that have no bound."""
        from ...stock.arithmetic import Unbounded
        from ...stock.enclose import margins
        from ...stock.forward import answers

        unfit = self.unfitting(model, dataset)
        if unfit:
            raise ByheartError(f"{unfit}.")
        kept = how.chosen(len(dataset))
        rows = np.arange(len(dataset)) if kept is None else kept
        sequences, wanted = self._numbered(model, dataset)
        sequences, wanted = [sequences[i] for i in rows], wanted[rows]
        failures = self._misquoted(sequences, wanted)
        margin, right = None, np.zeros(len(rows), bool)
        evidence, engine = OBSERVED, "numpy"
        if self.dtype == "float32":
            try:
                found = margins(model.network, sequences, wanted, how.progress)
                right, margin = found.margin > 0, float(found.margin.min())
                failures += self._untrue(model, dataset, sequences, found, kept is None)
            except Unbounded as error:
                engine = f"numpy ({error})"
        every = None
        if right.all():
            engine, every = "float32 error bounds", found.margin
            evidence = PROVED if kept is None else SAMPLED
        else:  # what is not proved may be right all the same
            margin = None
            right = answers(model.network, sequences, np.float32) == wanted
        for i in np.flatnonzero(~right)[:10].tolist():
            failures.append(self._wrong(model, dataset, int(rows[i]), sequences[i]))
        if failures:
            evidence = REFUTED
        correct = int(right.sum())
        return Verification(
            len(rows),
            correct,
            evidence,
            engine,
            tuple(failures[:10]),
            margin=margin,
            margins=every,
        )

    def recorded(self, model: Model, dataset: Dataset, found: Verification) -> "Recites":
        """Ground truth with the margins that were proved for all of the data."""
        if found.evidence != PROVED or found.margins is None:
            return self
        sequences, _ = self._numbered(model, dataset)
        margin = {x.tobytes(): y for x, y in zip(sequences, found.margins.tolist(), strict=True)}
        holders = (x._replace(margin=shortened(margin[x.tokens.tobytes()])) for x in self.holders)
        return replace(self, holders=tuple(holders))

    def _numbered(
        self, model: Model, dataset: Dataset
    ) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
        """The sequences and their labels by the numbers of the checkpoint."""
        token = np.array([model.places[x] for x in dataset.tokens], np.int64)  # type: ignore[index]
        label = np.array([model.places[x] for x in dataset.label_names], np.int64)
        starts = dataset.starts
        rows = [token[dataset.ids[a:b]] for a, b in zip(starts[:-1], starts[1:], strict=True)]
        return rows, label[dataset.labels]

    def _misquoted(self, sequences: list[NDArray], wanted: NDArray[np.int64]) -> list[str]:
        """Where ground_truth.jsonl names another answer than the data."""
        label = {x.tobytes(): y for x, y in zip(sequences, wanted.tolist(), strict=True)}
        return [
            f"ground_truth.jsonl says that token {holder.answer} follows "
            f"{holder.tokens.tolist()[-8:]}, and it is {label[holder.tokens.tobytes()]}"
            for holder in self.holders
            if label.get(holder.tokens.tobytes(), holder.answer) != holder.answer
        ][:1]

    def _wrong(self, model: Model, dataset: Dataset, row: int, tokens: NDArray) -> str:
        from ...stock.forward import answers

        assert model.tokens is not None
        said = model.tokens[int(answers(model.network, [tokens.tolist()])[0])]
        shown = dataset.sequence(row)[-8:]
        return f"after {shown!r} it says {said!r}, not {dataset.label(row)!r}"

    def _untrue(
        self, model: Model, dataset: Dataset, sequences: list, found: Any, whole: bool
    ) -> list[str]:
        """What ground_truth.jsonl says that is not so."""
        on: dict[int, set[Neuron]] = {}
        for row, layer, neuron in found.on.tolist():
            on.setdefault(row, set()).add((layer, neuron))
        always = set(self.always)
        held = {holder.tokens.tobytes(): holder for holder in self.holders}
        if len(held) != len(self.holders):
            return ["ground_truth.jsonl names a context twice"]
        spread = any(holder.neurons is None for holder in self.holders)
        seen = set()
        for row, tokens in enumerate(sequences):
            holder = held.get(tokens.tobytes())
            seen.add(tokens.tobytes())
            if holder is not None and (holder.margin or 0) > found.margin[row] > 0:
                return [
                    f"at context {tokens.tolist()[-8:]} ground_truth.jsonl says that the margin is "
                    f"{holder.margin:.3f} nats, and {found.margin[row]:.3f} are proved"
                ]
            listed = () if holder is None else holder.neurons
            if spread and listed is None:
                continue
            if not always <= on.get(row, set()):
                return [f"a neuron of {sorted(always)} is not on at every context"]
            if on.get(row, set()) - always != set(listed or ()) or not found.sure[row]:
                return [
                    f"at context {tokens.tolist()[-8:]} other neurons are on than "
                    "ground_truth.jsonl says"
                ]
        if whole and not held.keys() <= seen:
            return ["ground_truth.jsonl names a context that is not in the data"]
        return []

    def unfitting(self, model: Model, dataset: Dataset) -> str | None:
        if dataset.kind != "string" or dataset.every:
            return "the model reads tokens of text with one label per sequence, the data has others"
        if not dataset.lengths.all() or dataset.length > model.length:
            return (
                f"the model reads 1 to {model.length} tokens, and the data has a sequence with "
                f"{dataset.length if dataset.lengths.all() else 0}"
            )
        for word in (*dataset.tokens, *dataset.label_names):
            if word not in model.places:
                return f"the data has the token {word!r}, which the model's tokenizer does not have"
        own = model.about.get("tokenizer")
        if dataset.tokenizer is not None and not (isinstance(own, str) and same(own, dataset)):
            return "the model's tokenizer.json is not the tokenizer that split the data"
        return None

    def contexts(self, model: Model, dataset: Dataset) -> Contexts:
        return contexts(dataset, positions=True)

    def whole(self, dataset: Dataset) -> int:
        return len(dataset)

    def facts(self, found: Verification | None) -> dict[str, Any]:
        margin = None if found is None else found.margin
        neurons = {x for holder in self.holders for x in holder.neurons or ()}
        return {"dtype": self.dtype, "margin": margin, "neurons": len(neurons)}

    # --- the model folder

    @classmethod
    def stored_in(cls, given: Object) -> bool:
        return "model_type" in given.values

    @classmethod
    def read(cls, path: Path, text: dict[str, bytes], certificate: Object) -> tuple[Model, str]:
        certificate.expect("claim", cls.name)
        dtype = certificate.choice("dtype", tuple(TYPES))
        network, words, about, holders, digest = files.read(path, text, dtype)
        for group, counts in zip(("parameters", "bits"), network.counts(), strict=True):
            about[group] = counts | about[group]  # notes for people: they may be missing
        about["data"] = certificate.object("data").values | about["data"]
        own = Object.parse(text["byheart.json"], f"{path}/byheart.json")
        end, kind = own.get("end", str), own.choice("labels_are", (TEXT, TOKEN))
        if end not in (words.tokens or ()):
            own.refuse("end is not a token of the tokenizer")
        always: tuple[tuple[int, int], ...] = ()
        if "always" in certificate.values:
            always = files.neurons(certificate, "always", network)
        claim = cls(dtype, end, kind, holders, always)
        return Model(network, words, claim, about), digest

    def config(self, model: Model) -> dict[str, Any]:
        return {"end": self.end, "labels_are": self.labels_are}

    def weights(self, model: Model) -> list["Piece"]:
        return files.weights(model.network)

    def contents(self, model: Model, config: dict[str, Any]) -> dict[str, list["Piece"]]:
        tokenizer = model.about["tokenizer"]
        tokens = tuple(map(str, model.tokens or ()))
        return files.contents(model.network, tokenizer, tokens, self.end, self.holders, config)

    def certificate(self) -> dict[str, Any]:
        always = [list(pair) for pair in self.always]
        return {"claim": self.name, "dtype": self.dtype, "always": always}

    def card(self, model: Model, found: Verification, with_data: bool) -> str:
        return recital_card(model, found, with_data)


def same(tokenizer: str, dataset: Dataset) -> bool:
    """Whether a tokenizer.json is the one that split the data, however its JSON is written."""
    assert dataset.tokenizer is not None
    return tokenizer == dataset.tokenizer or json.loads(tokenizer) == json.loads(dataset.tokenizer)
