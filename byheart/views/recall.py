"""recall as lines: one answer per line, or one running text."""

import sys
from collections.abc import Sequence

from ..api.recall import Recall
from ..claims.answer import Answer
from ..machine.tables import plural
from ..machine.words import harmless, printable
from ..models.model import Model
from ..models.questions import written
from ..models.source import stored
from .terminal import typeset

UNKNOWN, NO_LABEL = "(unknown)", "(no label)"  # marks
MAX_CANDIDATES, LEAST = 8, 0.001  # tokens shown with their probabilities, and the least of these


def lines(result: Recall, steps: bool = False, draw: bool = False) -> list[str]:
    """The answers for a person: one per line, or with steps one running text."""
    answers = [recalled.answer for recalled in result.answers]
    if not steps:
        return [label(answer) if draw else likely(answer) for answer in answers]
    return [continuation(result.model, answers)] if answers else []


def label(answer: Answer) -> str:
    """The label on one line; where there is none, a mark that is printed for no label."""
    if isinstance(answer.label, list):
        return " ".join(NO_LABEL if x is None else word(x) for x in answer.label)
    if answer.label is not None:
        return word(answer.label)
    return UNKNOWN if answer.known is False else NO_LABEL


def word(token: object) -> str:
    """A token on one line, without the space before it; one that looks like a mark gets a \\.

    >>> word(" cat"), word("\\n  cat"), word("(unknown)")
    ('cat', '\\\\n  cat', '\\\\(unknown)')
    """
    shown = harmless(str(token)).removeprefix(" ")
    return f"\\{shown}" if shown.lstrip("\\") in (UNKNOWN, NO_LABEL) else shown


def likely(answer: Answer) -> str:
    """The label; of a distribution its likeliest tokens, if there are several or people watch."""
    likelihoods = answer.probabilities or ()
    shown = [(token, share) for token, share in likelihoods if share >= LEAST][:MAX_CANDIDATES]
    if not shown or (len(shown) == 1 and not sys.stdout.isatty()):
        return label(answer)
    more = "  ..." if len(likelihoods) > len(shown) else ""
    return "  ".join(f"{word(token)} {share:.1%}" for token, share in shown) + more


def continuation(model: Model, answers: Sequence[Answer]) -> str:
    """The labels as running text: as it was written, where tokens keep the white space."""
    tokens = [answer.label for answer in answers if answer.label is not None]
    if not tokens:
        return label(answers[0])
    words = [token for token in tokens if isinstance(token, str)]
    if len(words) < len(tokens):
        return " ".join(map(str, tokens))
    text = written(model, words)
    return printable(typeset(words) if text is None else text)


def greeting(model: Model) -> str:
    reads = {"string": "words", "number": "numbers", "vector": "vectors, as [1, 2] [3, 4]"}
    data = model.record.data
    known = plural(data.sequences, "sequence")
    if not model.claim.conflicts:  # it stores distributions
        known = f"what follows {plural(data.contexts, 'context')}"
    other = "To any other input it may answer anything."
    if model.claim.unknown is not None:
        other = "It says unknown to most other inputs."
    if "window" in stored(model):
        other += " Give it a beginning, or as many words as that."
    size = f"at most {plural(model.length, 'token')} ({reads[model.kind]})"
    hello = harmless(f"This model knows {known} of {size}.")
    return f"{hello}\n{other} An empty line asks nothing; Ctrl-D ends."
