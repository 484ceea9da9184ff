"""recall: ask a model, many times, or let it continue by itself."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..claims.answer import Answer, Question
from ..claims.result import picked
from ..errors import ByheartError, at_least
from ..machine.watch import SILENT, Watch
from ..models.model import Model
from ..models.placing import placed
from ..models.questions import from_file, tokens_of
from ..models.recall import Choose, continued, drawing
from ..models.source import of_texts
from .reading import model_of

ENDS = "the text ends here"


@dataclass(frozen=True)
class Recalled:
    """One answer, with its trace if one was asked for and all words are in the vocabulary."""

    answer: Answer
    traced: bool = False
    trace: Any = field(default=None, repr=False)

    def json(self) -> dict:
        return {**self.answer.json(), **(picked(self, "trace") if self.traced else {})}

    @property
    def lines(self) -> list[str]:
        return [] if self.trace is None else self.trace.lines()


@dataclass(frozen=True)
class Recall:
    """The answers of a model, in the order of the questions."""

    answers: tuple[Recalled, ...]
    model: Model = field(repr=False)

    def json(self) -> dict:
        return picked(self, "answers")


def recall(
    model: Model | str | Path,
    questions: Sequence[Question] | Path,
    *,
    steps: int | None = None,
    draw: bool = False,
    seed: int = 0,
    trace: bool = False,
    watch: Watch = SILENT,
) -> Recall:
    """Ask a model.

    Args:
        model: A model, or the path of its folder.
        questions: Lists of tokens, or texts; or the Path of a .jsonl file, with lines like
            {"input": ["a", "b"]}.
        steps: Continue each question for up to this many tokens.
        draw: Draw from the distribution instead of taking the likeliest token.
        seed: Random seed of the draws.
        trace: Also show how each is answered.
        watch: Where progress is reported.

    Returns:
        The answers; `.json()` is what `byheart recall --json` prints.

    Example:
        >>> import byheart
        >>> model = byheart.compile([("The capital of France is", "Paris")])
        >>> byheart.recall(model, ["The capital of France is"]).answers[0].answer.label
        'Paris'
    """
    watch.stage("opening")
    model = model_of(model, "recall")
    choose = drawing(model, seed) if draw else None
    if isinstance(questions, Path):
        rows = from_file(model, questions)
    else:
        rows = [tokens_of(model, x) for x in questions]
    watch.stage("asking")
    return ask(model, rows, steps=steps, trace=trace, choose=choose)


def ask(
    model: Model,
    questions: Sequence[Sequence],
    *,
    steps: int | None = None,
    trace: bool = False,
    choose: Choose | None = None,
) -> Recall:
    """The answers to lists of tokens; `choose` answers one question at a time, if it is given."""
    at_least(1, steps=steps)
    asked = [placed(model, tokens) for tokens in questions]
    if steps is None:
        rows = [question.tokens for question in asked]
        answers = model.answers(rows) if choose is None else list(map(choose, rows))
        answers = [x.marked(answer) for x, answer in zip(asked, answers, strict=True)]
    else:
        if model.every:
            raise ByheartError(
                "`steps=...` needs one label per sequence, and this model answers every token."
            )
        words = set(model.tokens or ())
        numbers = model.kind == "number" and isinstance(model.labels[0], int)
        if not numbers and (model.kind != "string" or words.isdisjoint(model.labels)):
            raise ByheartError("`steps=...` needs a model whose labels are tokens that it reads.")
        answers = []
        for question in asked:
            left = steps if choose or question.follow is None else question.follow
            most = min(steps, left) if question.possible else 1
            said = list(continued(model, question.tokens, choose, most))
            said = said or [Answer(question.tokens, None, None)]  # the whole text was given
            early = said[-1].label is not None and len(said) < steps
            if of_texts(model) and question.possible and (early or left == 0):
                said[-1] = replace(said[-1], note=ENDS)
            answers += [question.marked(said[0]), *said[1:]]
    traced = []
    for answer in answers:
        known = trace and model.numbers(answer.input) is not None  # no word outside the vocabulary
        traced.append(Recalled(answer, trace, model.trace(answer.input) if known else None))
    return Recall(tuple(traced), model)
