"""Located: stock checkpoints in which chosen neurons hold chosen contexts.

Attention of block 0 writes what distinguishes a context into the stream: the last tokens, in order,
and the mean of all tokens. The MLPs are a memory (gadgets/key_memory.py): one neuron per context
(or several) writes the code of the next token. All other attention writes nothing, so nothing but
the memory changes the stream from there on.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...claims.claim import TEXT, TOKEN, Holder, Neuron, Recites, Words
from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...data.targets import Floats
from ...errors import AssumptionError, ByheartError, OptionError
from ...gadgets.key_memory import Memory
from ...gadgets.reed_muller import lanes
from ...machine.tables import plural
from ...machine.watch import Watch
from ...stock.checkpoint import TYPES, Checkpoint, rounded
from ...stock.forward import attention, embedded, norm
from ...stock.show import UNEXPLAINED
from ...stock.texts import Texts, is_corpus, next_tokens, texts_of, unspelled
from ...stock.tokens import Vocabulary, vocabulary_of
from ...stock.truth import facts_of
from ..base import Built, Construction, option
from . import superposed

REACH_16 = 0.05  # of types with fewer digits than float32
LONG = 32  # texts with more tokens than this are documents, in which one token counts little
DECOY = 0.125  # how strongly a decoy writes, where the answer is written with 1
ENTRIES = 3  # of the sparse matrices, per row or column
HEADS = (8, 16, 32, 64)  # that are tried
FLOOR, TILT = 1.0, 0.9  # the argument of a neuron of `noise`, and which part of it a context moves
WIDER, TRIES = 16, 4  # lanes that are added where contexts come too near, and how often
LEAST_REACH = {"float32": 1e-5, "float16": 1e-3, "bfloat16": 5e-3}  # that the type tells apart
CONTEXT_LENGTH = 64  # at least, so that longer prompts can be asked
BATCH = 1 << 22


class Plan(NamedTuple):
    vocabulary: int
    end: int  # the number of the token that ends a text
    code: int  # lanes of a token's code
    context_length: int
    width: int
    heads: int
    layers: int
    hidden: int
    long: int = 0  # tokens of a document, if contexts are parts of documents, else 0
    common: NDArray | None = None  # of documents: the mean share of each token in a context, [V]


class Shell(NamedTuple):
    """A checkpoint with an empty memory."""

    network: Checkpoint
    codes: Floats  # of the tokens, [V, code]
    out: slice  # the lanes that the memory writes
    # neurons of block 0 that are on at every context: weights, bias, what each writes, [D]
    always: tuple[tuple[Floats, float, Floats], ...]


@dataclass(frozen=True)
class Located(Construction):
    """Stores next tokens in stock checkpoints."""

    claim: ClassVar[type[Recites]] = Recites
    tokenizer = "bpe:8000"
    unexplained = UNEXPLAINED
    advice = (
        "use `on_conflict='majority'`, which keeps the most frequent next token (a text is then "
        "recited from its first tokens that no other text shares), or `on_conflict='drop'`, which "
        "leaves these contexts out"
    )
    z: ClassVar[float]  # the argument of a neuron at its context
    logit: ClassVar[float] = 40.0  # of the correct token, about
    float32_reach: ClassVar[float] = 0.0015  # the default of `reach` for float32
    begins: ClassVar[bool] = False  # whether the end token stands before every text
    always: ClassVar[int] = 0  # neurons of block 0 that hold no context

    width: int | None = option(None, "Width of the stream.", metavar="N", least=1, most=1 << 14)
    heads: int | None = option(None, "Attention heads.", metavar="N", least=2, most=1 << 10)
    layers: int = option(1, "Blocks; the contexts are spread over them.", least=1, most=256)
    context_length: int | None = option(
        None, "Longest text that it reads, in tokens.", metavar="N", least=2, most=1 << 16
    )
    weights: str = option("float32", "Type of the weights.", choices=tuple(TYPES))
    reach: float | None = option(
        None,
        "How far a stored context reaches, 1 - cosine: less rejects more non-members.",
        metavar="X",
        least=0.0,
        most=1.0,
        above=True,
    )
    copies: int = option(
        1, "Neurons per context, each writing its share.", metavar="K", least=1, most=64
    )
    blocks: str | None = option(
        None, "Blocks that hold contexts, from 0, such as 1,3 [all].", metavar="LIST"
    )
    decoys: int = option(
        0,
        "Neurons that are on at a context and change no answer.",
        metavar="N",
        least=0,
        most=1 << 20,
    )
    noise: int = option(
        0,
        "Neurons per block that are on everywhere, so that an editor finds no key of 0.",
        metavar="N",
        least=0,
        most=32,
    )
    superposed: int | None = option(
        None,
        "Neurons that hold all contexts in superposition; 0 finds how many.",
        metavar="M",
        least=0,
        most=1 << 16,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        least = LEAST_REACH[self.weights]
        if self.reach is not None and self.reach < least:
            raise ByheartError(
                f"`reach={self.reach:g}` is less than {self.weights} can tell apart; give "
                f"{least:g} or more."
            )

    @property
    def edits(self) -> bool:
        return True

    def prepared(self, dataset: Dataset) -> Dataset:
        """The data as next tokens, the first step of compiling it."""
        vocabulary = self.vocabulary(dataset)
        prepared = next_tokens(dataset, vocabulary, self.begins, not self.claim.conflicts)
        if prepared is not dataset and (wrong := unspelled(dataset, vocabulary)):
            before, after = wrong.distinct
            lost = f" ({before} texts become {after})" if after < before else ""
            raise ByheartError(
                f"the tokenizer does not spell {plural(wrong.texts, 'text')} of the data, such as "
                f"{wrong.first[:60]!r}{lost}: its tokens make up another one; use a byte-level BPE "
                f"such as `tokenizer={self.tokenizer!r}`, and take special tokens such as "
                f"{vocabulary.end} out of the text."
            )
        return prepared

    def vocabulary(self, dataset: Dataset) -> Vocabulary:
        if dataset.tokenizer is None:
            raise ByheartError(
                f"the method {self.name} needs text that a tokenizer split; "
                f"give `tokenizer={self.tokenizer!r}`."
            )
        return vocabulary_of(dataset.tokenizer, dataset.loading.get("tokenizer"), self.begins)

    @abstractmethod
    def shell(self, plan: Plan, answers: NDArray, random: np.random.Generator) -> Shell:
        """Embeddings and the attention of block 0 for these answers, with an empty memory."""

    @abstractmethod
    def remembered(self, plan: Plan, streams: Floats, stored: NDArray) -> Memory:
        """The neurons for streams after the norm, with the bias apart."""

    @abstractmethod
    def written(
        self, plan: Plan, layer: int, weights: Floats, biases: Floats, outputs: Floats
    ) -> dict[str, NDArray]:
        """The tensors of an MLP: neurons [M, D], biases [M] and what each writes, [M, D]."""

    def planned(self, dataset: Dataset, contexts: Contexts) -> tuple[Plan, list[NDArray], NDArray]:
        """Its sizes, and the contexts and answers that it stores, for prepared data."""
        vocabulary = self.vocabulary(dataset)
        number = np.array([vocabulary.numbers[str(x)] for x in dataset.tokens], np.int64)
        names = np.array([vocabulary.numbers[str(x)] for x in dataset.label_names], np.int64)
        sequences = [
            number[dataset.ids[dataset.starts[i] : dataset.starts[i + 1]]] for i in contexts.first
        ]
        answers = names[dataset.labels[contexts.first]]
        end = vocabulary.numbers[vocabulary.end]
        plan, first = self.plan(sequences, answers, len(vocabulary.tokens), end)
        return plan, [sequences[i] for i in first], answers[first]

    def build(self, dataset: Dataset, contexts: Contexts, watch: Watch) -> Built:
        plan, known, wanted = self.planned(dataset, contexts)
        watch.note(f"{len(known):,} contexts, {plan.width} lanes, {plan.heads} heads")
        if self.superposed is not None:
            return self.spread(dataset, plan, known, wanted, watch)
        stored = np.flatnonzero(wanted != plan.end)
        plan, shell, _, neurons, tries, random = self.begun(plan, wanted, known, stored, watch)
        network, homes, decoys, always = self.filled(plan, shell, neurons, wanted[stored], random)
        holders = tuple(
            Holder(known[i], int(wanted[i]), (*home, *others), float(reach), tuple(others))
            for i, home, others, reach in zip(stored, homes, decoys, neurons.reach, strict=True)
        )
        note = f"smallest reach of a context: {neurons.reach.min():.3g}"
        return self.built(dataset, network, holders, always, tries, note)

    def begun(
        self,
        plan: Plan,
        answers: NDArray,
        known: list[NDArray],
        stored: NDArray,
        watch: Watch,
        tries: int = 1,
    ) -> tuple[Plan, Shell, Floats, Memory, int, np.random.Generator]:
        """The checkpoint up to its memory, in a wider plan where contexts come too near; the
        streams [N, D] that the memory adds to, its neurons, and how many plans were tried."""
        random = np.random.default_rng(self.seed)
        shell = self.shell(plan, answers, random)
        before, streams = first_streams(shell.network, texts_of(known))
        try:
            return plan, shell, before, self.remembered(plan, streams, stored), tries, random
        except AssumptionError:
            if self.width or tries == TRIES:
                raise
        plan = plan._replace(width=plan.width + -(-WIDER // plan.heads) * plan.heads)
        watch.note(f"contexts come too near: trying {plan.width} lanes")
        return self.begun(plan, answers, known, stored, watch, tries + 1)

    def built(
        self,
        dataset: Dataset,
        network: Checkpoint,
        holders: tuple[Holder, ...],
        always: tuple[Neuron, ...],
        tries: int,
        note: str,
        **more: Any,
    ) -> Built:
        """The checkpoint with what it promises about the texts; `more` is about distributions."""
        vocabulary, kind = self.vocabulary(dataset), TOKEN if is_corpus(dataset) else TEXT
        number = np.array([vocabulary.numbers[str(x)] for x in dataset.tokens], np.int64)
        names = np.array([vocabulary.numbers[str(x)] for x in dataset.label_names], np.int64)
        sequences = np.split(number[dataset.ids], dataset.starts[1:-1])
        facts = facts_of(dataset.rows, sequences, names[dataset.labels], holders)
        claim = self.claim(network.dtype, vocabulary.end, kind, holders, always, facts, **more)
        return Built(network, claim, Words("string", vocabulary.tokens), tries, (note,))

    def plan(
        self, sequences: list[NDArray], answers: NDArray, vocabulary: int, end: int
    ) -> tuple[Plan, NDArray]:
        """Sizes, and one of the sequences for each that the heads can distinguish."""
        longest = max(map(len, sequences))
        if self.context_length is not None and self.context_length < longest:
            raise ByheartError(
                f"a text has {longest:,} tokens, more than "
                f"`context_length={self.context_length}`; give more."
            )
        least = self.least_heads(sequences)
        for heads in [self.heads] if self.heads else [x for x in HEADS if x >= least]:
            first, clash = distinguished(sequences, answers, heads - 1)
            if clash is None:
                break
        if clash is not None:
            raise AssumptionError(
                f"A2 fails: {clash[0]} and {clash[1]} (token numbers) end in the same {heads} "
                "tokens, have the same tokens before, and go on differently; give more heads."
            )
        stored = int((answers[first] != end).sum())
        used = np.bincount(self.neurons(stored)[1], minlength=self.layers)
        used[0] += self.always
        hidden = self.superposed or max(
            1, int(used.max()) + self.noise
        )  # superposed=0 finds it later
        length = self.context_length or max(CONTEXT_LENGTH, longest + 1)  # llama.cpp needs one more
        width = self.width or self.fitted_width(heads, lanes(vocabulary), length)
        sizes = Plan(vocabulary, end, lanes(vocabulary), length, width, heads, self.layers, hidden)
        if width % heads:
            raise ByheartError(f"`width={width}` is not a multiple of `heads={heads}`.")
        least = self.fitted_width(heads, sizes.code, length)
        if width < least:
            raise ByheartError(f"`width={width}` is too small: it must be {least} or more.")
        lengths = np.array([len(sequences[i]) for i in first])
        long = int(np.quantile(lengths, 0.9))
        if long > LONG:
            common = np.zeros(vocabulary)
            for i, size in zip(first, lengths, strict=True):
                np.add.at(common, sequences[i], 1 / size)
            sizes = sizes._replace(long=long, common=common / common.sum())
        return sizes, first

    def least_heads(self, sequences: list[NDArray]) -> int:
        return HEADS[0]

    @abstractmethod
    def fitted_width(self, heads: int, code: int, context_length: int) -> int:
        """The smallest width that holds the lanes, a multiple of the heads."""

    @property
    def chosen_reach(self) -> float:
        return self.reach or (self.float32_reach if self.weights == "float32" else REACH_16)

    @property
    def holding(self) -> list[int]:
        """The blocks that hold contexts."""
        if self.blocks is None:
            return list(range(self.layers))
        parts = self.blocks.split(",")
        if not all(x.isascii() and x.isdigit() and int(x) < self.layers for x in parts):
            must = f"must be numbers from 0 to {self.layers - 1} with commas between them"
            raise OptionError("blocks", self.blocks, must)
        return sorted(set(map(int, parts)))

    def spread(
        self, dataset: Dataset, plan: Plan, known: list[NDArray], answers: NDArray, watch: Watch
    ) -> Built:
        """The checkpoint whose neurons hold all contexts together, ends of texts included."""
        random = np.random.default_rng(self.seed)
        shell = self.shell(plan, answers, random)
        before, streams = first_streams(shell.network, texts_of(known))
        bits, each, tries = superposed.entropy(answers), 2 * plan.width + 1, 1
        count = self.superposed or max(1, round(bits / superposed.DENSITY / each))
        data = streams, before[:, shell.out], answers, shell.codes
        memory = superposed.fitted(*data, count, random, watch)
        least = 0.0 if self.superposed else superposed.LEAST * shell.codes.shape[1]
        while memory.margin.min() <= least and self.superposed == 0 and count < len(known):
            count, tries = math.ceil(superposed.MORE * count), tries + 1
            memory = superposed.fitted(*data, count, random, watch)
        wrong = int((memory.margin <= 0).sum())
        if wrong:
            raise AssumptionError(
                f"{wrong:,} of {len(known):,} contexts are not answered by {count:,} neurons in "
                "superposition; give more of them, or `superposed=0`, which finds their number."
            )
        outputs = np.zeros((count, plan.width))
        outputs[:, shell.out] = memory.outputs
        written = self.written(plan, 0, memory.weights.T, memory.biases, outputs)
        tensors = dict(shell.network.tensors)
        tensors |= {name: rounded(x, self.weights) for name, x in written.items()}
        config = {**shell.network.config, shell.network.family.hidden: count}
        network = replace(shell.network, config=config, tensors=tensors)
        holders = tuple(Holder(x, int(y), None) for x, y in zip(known, answers, strict=True))
        share = bits / (count * each + plan.width)
        note = (
            f"{len(known):,} contexts in superposition over {count:,} neurons, fitted by gradient "
            f"descent: {share:.3g} bits of next tokens per parameter of the memory"
        )
        return self.built(dataset, network, holders, (), tries, note)

    def neurons(self, count: int) -> tuple[NDArray, NDArray, NDArray]:
        """The context and the block of every neuron, and False for decoys.

        All neurons of a context are in one block, as a later norm would see what the first writes.
        """
        blocks = np.array(self.holding)
        decoys = np.arange(self.decoys if count else 0) * count // max(1, self.decoys)
        context = np.concatenate([np.tile(np.arange(count), self.copies), decoys]).astype(np.int64)
        home = blocks[context * len(blocks) // max(1, count)]
        return context, home, np.arange(len(context)) < count * self.copies

    def filled(
        self, plan: Plan, shell: Shell, found: Memory, answers: NDArray, random: np.random.Generator
    ) -> tuple[Checkpoint, list[list[Neuron]], list[list[Neuron]], tuple[Neuron, ...]]:
        """The checkpoint with its memory, the neurons and decoys of each context, and those that
        are on everywhere.

        A normed stream is no longer than sqrt(D), so a weight of the length FLOOR TILT / sqrt(D)
        keeps the argument of a neuron of `noise` between FLOOR (1 - TILT) and FLOOR (1 + TILT). It
        writes a small part of this weight, where no answer is read: editors divide by that, too.
        """
        count, D, M = len(answers), plan.width, plan.hidden
        context, home, true = self.neurons(count)
        writes = np.where(true, answers[context], random.permutation(answers[context]))
        strength = np.where(true, 1 / self.copies, DECOY)
        tensors = dict(shell.network.tensors)
        holders: list[list[Neuron]] = [[] for _ in range(count)]
        decoys: list[list[Neuron]] = [[] for _ in range(count)]
        always: list[Neuron] = []
        for layer in range(plan.layers):
            weights, outputs = np.zeros((M, D)), np.zeros((M, D))
            biases = np.full(M, -2 * self.z)
            here = np.flatnonzero(home == layer)
            own = context[here]
            weights[: len(here)], biases[: len(here)] = found.weights[own], found.biases[own]
            outputs[: len(here), shell.out] = shell.codes[writes[here]] * strength[here, None]
            noise = random.standard_normal((self.noise, D))
            noise[:, shell.out] = 0.0
            noise *= FLOOR * TILT / math.sqrt(D) / np.linalg.norm(noise, axis=1, keepdims=True)
            everywhere = [(weight, FLOOR, weight / (16 * plan.layers)) for weight in noise]
            everywhere += shell.always if layer == 0 else ()
            for i, (weight, bias, output) in enumerate(everywhere, 1):
                weights[M - i], biases[M - i], outputs[M - i] = weight, bias, output
                always.append((layer, M - i))
            written = self.written(plan, layer, weights, biases, outputs)
            tensors |= {name: rounded(x, self.weights) for name, x in written.items()}
            for place, (i, real) in enumerate(zip(own.tolist(), true[here].tolist(), strict=True)):
                (holders if real else decoys)[i].append((layer, place))
        return replace(shell.network, tensors=tensors), holders, decoys, tuple(always)


def sparse(rows: int, columns: int, random: np.random.Generator) -> Floats:
    """A random matrix that keeps lengths on average, with few entries, one at least, per line."""
    found = np.zeros((rows, columns))
    for turn in range(ENTRIES):
        sides = max(rows, columns)
        i = np.concatenate([random.permutation(rows) for _ in range(-(-sides // rows))])[:sides]
        j = np.concatenate([random.permutation(columns) for _ in range(-(-sides // columns))])
        found[i, j[:sides]] += random.standard_normal(sides) + (1.0 if turn == 0 else 0.0)
    return found / np.sqrt((found * found).sum() / rows)


def distinguished(
    sequences: list[NDArray], answers: NDArray, window: int
) -> tuple[NDArray, tuple[list[int], list[int]] | None]:
    """The first of the sequences that look alike to the heads, and two that go on differently.

    Heads see the last window + 1 tokens in order, and how often each token occurs in all.
    """
    random = np.random.default_rng(0)
    mark = random.integers(0, 2**63, 1 + max(int(x.max()) for x in sequences), np.int64)
    seen: dict[tuple, int] = {}
    first = []
    for i, tokens in enumerate(sequences):
        key = (tokens[-window - 1 :].tobytes(), int(mark[tokens].sum() & (2**63 - 1)), len(tokens))
        other = seen.setdefault(key, i)
        if other == i:
            first.append(i)
        elif answers[other] != answers[i]:
            return np.array(first), (sequences[other].tolist()[-12:], tokens.tolist()[-12:])
    return np.array(first), None


def first_streams(network: Checkpoint, texts: Texts) -> tuple[Floats, Floats]:
    """The streams [N, D] after the attention of block 0, and what its second norm gives."""
    block, D = network.block(0), network.width
    streams, normed = np.empty((2, len(texts.text), D))
    rows_of: dict[int, list[int]] = {}
    for row, text in enumerate(texts.text.tolist()):
        rows_of.setdefault(text, []).append(row)
    lengths: dict[int, list[int]] = {}
    for i, tokens in enumerate(texts.tokens):
        lengths.setdefault(len(tokens), []).append(i)
    for length, members in lengths.items():
        step = max(1, BATCH // (length * (4 * D + network.size("heads") * length)))
        for begin in range(0, len(members), step):
            part = members[begin : begin + step]
            x = embedded(network, np.stack([texts.tokens[i] for i in part]))
            x = x + attention(network, block, x)
            rows = [row for i in part for row in rows_of[i]]
            owner = np.repeat(np.arange(len(part)), [len(rows_of[i]) for i in part])
            streams[rows] = x[owner, texts.place[rows]]
            gain, bias = block.norm2, block.norm2_bias
            normed[rows] = norm(streams[rows], gain, bias, network.epsilon, network.family.rms)
    return streams, normed
