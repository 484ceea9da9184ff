"""ground_truth.jsonl: a line per fact, with the neurons of every token of its answer.

The form is described in checker/FORMAT.md, section 10. Folders of older versions have a line per
context instead.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims.claim import TEXT, Fact, Holder, Neuron, Recites
from ..machine.plain import Piece
from ..machine.strict import Object
from .checkpoint import Checkpoint
from .tokens import Vocabulary

Lines = tuple[tuple[Holder, ...], tuple[Fact, ...]]


def facts_of(
    rows: NDArray[np.int64] | None,
    sequences: Sequence[NDArray],
    answers: NDArray[np.int64],
    holders: Iterable[Holder],
) -> tuple[Fact, ...]:
    """Contexts of one row that follow one another, as far as they are held.

    rows       which row each context is of; None if that is not known
    sequences  the contexts in the order of the data, with the token that follows each
    """
    held = {holder.tokens.tobytes() for holder in holders}
    origins = [None] * len(sequences) if rows is None else rows.tolist()
    found: dict[tuple[int, bytes], Fact] = {}
    row, tokens, prompt = None, np.zeros(0, np.int64), 0  # of the fact that is being read

    def close() -> None:
        if prompt:
            found.setdefault((prompt, tokens.tobytes()), Fact(row, tokens, prompt))

    for origin, sequence, answer in zip(origins, sequences, answers.tolist(), strict=True):
        goes_on = prompt and origin == row and np.array_equal(sequence, tokens)
        if not goes_on or sequence.tobytes() not in held:
            close()
            row, prompt = origin, len(sequence) if sequence.tobytes() in held else 0
        tokens = np.append(sequence, answer)
    close()
    return tuple(found.values())


def lines(claim: Recites, vocabulary: Vocabulary) -> list[Piece]:
    holders = {holder.tokens.tobytes(): holder for holder in claim.holders}
    shares = {
        (x.tokens.tobytes(), t): p for x in claim.holders for t, p in (x.shares or {}).items()
    }
    found: list[Piece] = []
    for fact in claim.facts:
        prompt, answer = _texts(vocabulary, fact.tokens.tolist(), fact.prompt)
        if claim.labels_are == TEXT:
            answer = answer.removeprefix(" ")  # which the prompt was given
        parts = []
        for context, token in zip(fact.contexts, fact.tokens[fact.prompt :].tolist(), strict=True):
            holder = holders[context]
            part: dict[str, Any] = {
                "token": vocabulary.piece(token),
                "number": token,
                "neurons": None if holder.neurons is None else [list(x) for x in holder.neurons],
                "reach": holder.reach,
                "margin": holder.margin,
            }
            if (context, token) in shares:
                part["share"] = shares[context, token]
            if holder.decoys:
                part["decoys"] = [list(x) for x in holder.decoys]
            parts.append(part)
        context = fact.tokens[: fact.prompt].tolist()
        line: dict[str, Any] = {
            "row": fact.row,
            "prompt": prompt,
            "answer": answer,
            "context": context,
        }
        line["tokens"] = parts
        found.append(json.dumps(line).encode("ascii") + b"\n")
    return found


def read_lines(content: bytes, where: str, network: Checkpoint, vocabulary: Vocabulary) -> Lines:
    """The holders and facts that the lines name; a context may stand in several of them."""
    holders: dict[tuple, Holder] = {}
    facts = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip(b" \t\r"):
            continue
        given = Object.parse(line, f"{where}, line {number}")
        tokens = given.get("context", list)
        row, prompt = None, len(tokens)
        if "tokens" in given.values:
            parts = [
                Object(part if isinstance(part, dict) else {}, f"{given.where}, tokens")
                for part in given.get("tokens", list)
            ]
            answers = [part.get("number", int) for part in parts]
            row = given.note("row", int)
        else:  # one context, in folders of older versions
            parts, answers = [given], [given.get("answer", int)]
        whole = [*tokens, *answers]
        if not all(type(x) is int and 0 <= x < network.size("vocabulary") for x in whole):
            given.refuse("a token has a number that the vocabulary does not have")
        if parts != [given]:
            if not parts or not prompt:
                given.refuse("it names no token of an answer, or no prompt")
            _check_texts(given, parts, vocabulary, whole, prompt)
        numbers = np.array(whole, np.int64)
        facts.append(Fact(row, numbers, prompt))
        for place, part in enumerate(parts, prompt):
            holder = _holder(part, numbers[:place], whole[place], network)
            on = None if holder.neurons is None else frozenset(holder.neurons)
            holders.setdefault((holder.tokens.tobytes(), holder.answer, on), holder)
    return tuple(holders.values()), tuple(facts)


def _holder(given: Object, tokens: NDArray, answer: int, network: Checkpoint) -> Holder:
    on = None
    if given.values.get("neurons", ()) is not None:  # null, but not missing
        on = neurons(given, "neurons", network)
    named = given.note("decoys", list, [])
    decoys = tuple(x for x in on or () if list(x) in named)
    reach, margin = given.note("reach", float), given.note("margin", float)
    share = given.note("share", float)
    shares = None if share is None else {answer: share}
    return Holder(tokens, answer, on, reach, decoys, margin, shares)


def _check_texts(
    given: Object, parts: list[Object], vocabulary: Vocabulary, tokens: list[int], first: int
) -> None:
    """The prompt, the answer and its tokens are what the numbers stand for."""
    if not all(x < len(vocabulary.tokens) and type(vocabulary.tokens[x]) is str for x in tokens):
        given.refuse("a token has a number that the tokenizer does not have")
    prompt, answer = _texts(vocabulary, tokens, first)
    if given.get("prompt", str) != prompt:
        given.refuse("the prompt is not what its tokens spell")
    if given.get("answer", str) not in (answer, answer.removeprefix(" ")):
        given.refuse("the answer is not what its tokens spell")
    for part, number in zip(parts, tokens[first:], strict=True):
        if part.get("token", str) != vocabulary.piece(number):
            part.refuse(f"token {number} has another text")


def _texts(vocabulary: Vocabulary, tokens: list[int], first: int) -> tuple[str, str]:
    words = [*map(vocabulary.token, tokens)]
    return vocabulary.written(words[:first]), vocabulary.written(words[first:])


def neurons(given: Object, name: str, network: Checkpoint) -> tuple[Neuron, ...]:
    """A list of neurons, each a layer and a number in it."""
    sizes = network.size("layers"), network.size("hidden")
    found = given.get(name, list)
    for pair in found:
        if not (
            isinstance(pair, list)
            and len(pair) == 2
            and all(type(x) is int and 0 <= x < y for x, y in zip(pair, sizes, strict=True))
        ):
            given.refuse("a neuron is not a pair of a layer and a number")
    return tuple((x, y) for x, y in found)
