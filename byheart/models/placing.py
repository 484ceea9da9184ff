"""Where a question stands in the texts of a model: what of it is a context, and what it lacks.

A model of texts is asked about the last W tokens, W its window, or about all tokens from a text's
beginning. A shorter question is a context only if a text begins with it. The model itself knows
whether one does: a text that begins with t_1 has the context (t_1), so the label of that is right,
and if it is t_2, then (t_1, t_2) is a context, and so on. Only the first tokens of the texts are
not in the network; config.json holds them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..claims.answer import Answer, Question
from ..claims.model import ModelData
from ..data.layout import Layout
from ..data.readers.text import SPACED_RULE
from ..data.readers.tokenizers import PHRASES
from .kinds import kind_of
from .questions import tokens_of
from .source import stored

MARKS = ("\u0120", "\u2581")  # tokenizers write the space before a word as one of these

ENDS = "this model answers at the ends of its phrases only"
INSIDE = f"a word stands inside a phrase: {ENDS}"
UNFINISHED = f"{ENDS}, and this question may end inside one"


@dataclass(frozen=True)
class Placed:
    """A question as a context, what it lacks, and whether the data may have such a context."""

    tokens: list
    note: str | None = None
    possible: bool = True
    # how many tokens follow it, where a text begins with it; None if that is not known
    follow: int | None = None

    def marked(self, answer: Answer) -> Answer:
        """The answer with the note; without a label where the data has no such context."""
        if self.possible:
            return replace(answer, note=self.note) if self.note else answer
        return Answer(self.tokens, None, False, note=self.note)


def asked(model: ModelData, question: Question) -> Placed:
    """A list of tokens as it is; text as a context, read as `byheart recall` reads a line."""
    tokens = tokens_of(model, question)
    if not isinstance(question, str):
        return Placed(tokens)
    found = placed(model, tokens)
    if found.note or not tokens or not _phrases(model):
        return found
    last = str(tokens[-1])
    longer = any(len(str(x)) > len(last) and str(x).startswith(last) for x in model.places)
    return replace(found, note=UNFINISHED if longer else None)


def _phrases(model: ModelData) -> bool:
    return str(stored(model).get("tokenizer")).partition(":")[0] == PHRASES


def fitting(model: ModelData, tokens: Sequence) -> list:
    """The last tokens for a model compiled with a window; others read all of them or refuse."""
    return list(tokens[-model.length :] if "window" in stored(model) else tokens)


def placed(model: ModelData, question: Sequence) -> Placed:
    """The question as a context of the texts that the model was made from."""
    loading, tokens = stored(model), fitting(model, question)
    texts = {"documents", "dtype"} & loading.keys() and not model.every
    if not texts or not tokens or len(question) > len(tokens):
        return Placed(tokens)
    first, window = tokens[0], loading.get("window")
    readings = [first]
    if loading.get("unit") == SPACED_RULE and isinstance(first, str):
        own = first.lstrip()
        readings = sorted((x for x in model.places if str(x).lstrip() == own), key=len)  # type: ignore[arg-type]
        readings = sorted(readings, key=lambda x: x != first)  # as it is written, before others
    phrases = _phrases(model)
    if "tokenizer" in loading and isinstance(first, str):
        readings = [first, *(mark + first for mark in MARKS)]
        readings = [x for x in readings if x in model.places]
    if not readings or kind_of(model).answer.numbers(model, [readings[0], *tokens[1:]]) is None:
        return Placed(tokens, INSIDE if phrases else None)  # a word outside the vocabulary
    starts = model.record.data.beginnings
    needs = "this model knows its texts from their beginning on"
    if window is not None:
        needs = f"this model needs the last {window} tokens unless the text begins here"
        if window == 1:
            needs = "this model needs the last token unless the text begins here"
    needs += f"; {ENDS}" if phrases else ""
    if starts is None:  # a folder of version 0.1, or very many texts
        short = window is None or len(tokens) < window
        return Placed([readings[0], *tokens[1:]], needs if short and window else None)
    for beginning in (x for x in readings if x in starts):
        if begins(model, [beginning, *tokens[1:]]):
            layout, question = model.record.layout or Layout(()), [beginning, *tokens[1:]]
            pairs = zip(layout.firsts, layout.lengths, strict=True)
            longest = max((size for first, size in pairs if first == beginning), default=None)
            return Placed(question, follow=longest and max(0, longest - len(question)))
    if window is None or len(tokens) < window:
        settled = any(model.record.conflicts.values())  # beginnings may be changed
        begun = settled and any(x in starts for x in readings)
        return Placed([readings[0], *tokens[1:]], needs, begun)
    answers = kind_of(model).answer.answers(model, [[x, *tokens[1:]] for x in readings])
    known = [x for x in answers if x.known is not False] or answers
    alike = all(answer.label == known[0].label for answer in known)
    more = "white space may stand before this question; begin one token earlier to be sure"
    return Placed(list(known[0].input), None if alike else more)


def begins(model: ModelData, tokens: Sequence) -> bool:
    """Whether a text begins with these tokens, given that one begins with the first of them."""
    starts = [tokens[:size] for size in range(1, len(tokens))]
    answers = kind_of(model).answer.answers(model, starts)
    follows = ([x.label] if x.probabilities is None else dict(x.probabilities) for x in answers)
    return all(token in known for token, known in zip(tokens[1:], follows, strict=True))
