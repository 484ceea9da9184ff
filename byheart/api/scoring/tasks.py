"""The five tasks: what a method is asked, and the scores of what it answers.

A score has a floor, which a random answer reaches, and a ceiling, which the exact operation does.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import harmonic_mean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...auditing.membership import binomial
from ...auditing.membership import membership as auc_of
from ...errors import ByheartError
from ...machine.watch import Watch
from ..packs.facts import Row
from ..packs.pack import Pack
from .methods import MEMBERSHIP, Caller, Functions, Late, Problem, edited, limited, shape
from .models import Subject, divergence, last_logits, losses, said, subject

DRAWS = 1000  # of a bootstrap
STEPS, RATE = 10, 1e-3  # of relearning


class Score(NamedTuple):
    """A mean over items with an interval of 95 %, what chance gives, and what is right."""

    value: float
    low: float
    high: float
    floor: float | None
    ceiling: float


def share(values: Any, floor: float, ceiling: float = 1.0) -> Score:
    """Of values from 0 to 1; the exact binomial interval is wide enough for all of them."""
    total = float(np.sum(values))
    low, high = binomial(total, len(values))
    return Score(total / len(values), low, high, floor, ceiling)


def both(gone: Sequence[bool], stays: Sequence[bool], chance: float, ceiling: float) -> Score:
    """The harmonic mean of two shares; both of their intervals hold together in 95 %."""
    ends = [(sum(x) / len(x), *binomial(sum(x), len(x), 0.975)) for x in (gone, stays)]
    value, low, high = map(harmonic_mean, zip(*ends, strict=True))
    return Score(value, low, high, harmonic_mean([1 - chance, chance]), harmonic_mean([ceiling, 1]))


def average(values: Any, floor: float | None, ceiling: float = 0.0) -> Score:
    """Of any numbers, with a bootstrap."""
    x = np.asarray(values, float)
    draws = x[np.random.default_rng(0).integers(0, len(x), (DRAWS, len(x)))].mean(axis=1)
    mean, ends = float(x.mean()), np.quantile(draws, (0.025, 0.975))
    return Score(mean, min(mean, float(ends[0])), max(mean, float(ends[1])), floor, ceiling)


def area(values: Any, others: Any, floor: float = 0.5, ceiling: float = 1.0) -> Score:
    found = auc_of(np.asarray(values, float), np.asarray(others, float))
    return Score(*found, floor, ceiling)


@dataclass(frozen=True, eq=False)
class Asked:
    """A pack and its model, the functions of the method, and how they are called."""

    pack: Pack
    subject: Subject
    functions: Functions
    call: Caller
    watch: Watch

    @cached_property
    def others(self) -> list[Row]:
        """What the model does not hold."""
        return self.pack.table("holdout")

    @cached_property
    def prompts(self) -> list[str]:
        return [*self.pack.held, *(row.prompt for row in self.others)]

    @cached_property
    def ids(self) -> list[list[int]]:
        return [self.subject.ids(x) for x in self.prompts]

    @cached_property
    def longest(self) -> int:
        return max(len(self.subject.answer(*row)) for row in self.pack.held.items())

    @property
    def chance(self) -> float:
        return 1 / self.subject.model.config.vocab_size

    def asks(self, name: str, *given: Any, copied: bool = False) -> Any:
        model = self.subject.fresh() if copied else self.subject.model
        return self.call(self.functions[name], model, *given)

    def judged(self, score: Callable[..., Any], model: Any, *given: Any) -> Any:
        """What a score says of a model; a Problem if a method returned one that does not run."""
        try:
            with limited(self.call.limit):
                return score(model, *given)
        except Late:
            limit = f"{self.call.limit:g} seconds"
            raise Problem(f"the model that it returned ran past the limit of {limit}") from None
        except Exception as error:
            said = " ".join(str(error).split())[:120]
            raise Problem(f"what it returned is not a model that runs ({said})") from None

    def answers(self, model: Any) -> dict[str, tuple[int, ...]]:
        answers = self.judged(said, model, self.ids, self.longest)
        return dict(zip(self.prompts, answers, strict=True))

    def gives(self, answers: Mapping[str, tuple[int, ...]], prompt: str, answer: str) -> bool:
        wanted = self.subject.answer(prompt, answer)
        return answers[prompt][: len(wanted)] == wanted

    def logits(self, model: Any) -> Any:
        """After every prompt; a Problem if what a method returned is no such model."""
        found = self.judged(lambda model: last_logits(model.eval(), self.ids), model)
        if found.shape[1] != self.subject.model.config.vocab_size or not found.isfinite().all():
            raise Problem("the model that it returned gives other logits, or some are not finite")
        return found


def numbers(values: Any, wanted: tuple[int, ...]) -> NDArray[np.float64]:
    """The array of a method; a Problem if it has another shape, or a number is not finite."""
    try:
        values = values.detach().cpu() if hasattr(values, "detach") else values
        found = np.asarray(values, float)
    except (TypeError, ValueError):
        raise Problem(f"it returned {type(values).__name__}, not {wanted} numbers") from None
    if found.shape != wanted or not np.isfinite(found).all():
        what = "numbers that are not finite" if found.shape == wanted else f"shape {found.shape}"
        raise Problem(f"it returned {what}, not {wanted} numbers")
    return found


def ranked(values: NDArray, true: NDArray[np.bool_]) -> tuple[float, float]:
    """The precision at k of k true places, and the reciprocal rank of the first; ties are shared.

    >>> ranked(np.array([3.0, 1.0, 3.0]), np.array([True, False, False]))
    (0.5, 0.6666666666666666)
    """
    k, best = int(true.sum()), values[true].max()
    limit = np.sort(values)[-k]
    above, tied = values > limit, values == limit
    found = true[above].sum() + true[tied].mean() * (k - above.sum())
    return float(found / k), float(
        1 / (1 + (values > best).sum() + (~true[values == best]).sum() / 2)
    )


def locate(asked: Asked) -> tuple[int, dict[str, Score]]:
    """Whether the neurons that hold an answer get the highest scores."""
    size = shape(asked.subject.model)
    pairs = zip(asked.pack.table("facts"), asked.pack.lines("truth"), strict=True)
    truth = [(row.prompt, x) for row, x in pairs if x["neurons"] and x["id"] in x["proponents"][:1]]
    if not truth:
        raise ByheartError(
            f"the pack {asked.pack.name} has no neurons to locate: all of them hold all facts; use "
            "another task."
        )
    asked.watch.expect(len(truth))
    precision, areas, decoys = [], [], []
    for prompt, x in truth:
        values, true = numbers(asked.asks("locate", prompt), size), np.zeros(size, bool)
        true[tuple(np.array(x["neurons"]).T)] = True
        precision.append(ranked(values.ravel(), true.ravel())[0])
        areas.append(area(values[true], values[~true]).value)
        if x["decoys"]:
            decoys.append(area(values[tuple(np.array(x["decoys"]).T)], values[true]).value)
        asked.watch.advance(1)
    floor = float(np.mean([len(x["neurons"]) for _, x in truth])) / math.prod(size)
    scores = {"precision": share(precision, floor), "auc": share(areas, 0.5)}
    return len(truth), scores | ({"decoys_above": share(decoys, 0.5, 0.0)} if decoys else {})


def edit(asked: Asked) -> tuple[int, dict[str, Score]]:
    """Whether the edit is there and nothing else has changed."""
    requests, before = asked.pack.lines("edits"), asked.answers(asked.subject.model)
    asked.watch.expect(len(requests))
    columns: dict[str, list[float]] = {}

    def note(**values: Any) -> None:
        for name, value in values.items():
            columns.setdefault(name, []).append(float(value))

    for x in requests:
        request = {name: x[name] for name in ("prompt", "answer", "old")}
        made, wanted = asked.asks("edit", request, copied=True), edited(asked.pack, request)
        logits, right = asked.logits(made), asked.logits(wanted)
        after, exact = asked.answers(made), asked.answers(wanted)
        held, others = [p for p in asked.pack.held if p != x["prompt"]], asked.others
        success = asked.gives(after, x["prompt"], x["answer"])
        stays = float(np.mean([after[p] == before[p] for p in held]))
        outside, possible = (
            float(np.mean([y[row.prompt] == before[row.prompt] for row in others]))
            for y in (after, exact)
        )
        note(success=success, others=stays, outside=outside, possible=possible)
        note(overall=harmonic_mean([success, stays]))
        note(far=divergence(right, logits).mean(), chance=divergence(right, 0 * right).mean())
        asked.watch.advance(1)
    possible, chance = (float(np.mean(columns[name])) for name in ("possible", "chance"))
    return len(requests), {
        "overall": share(columns["overall"], asked.chance),
        "success": share(columns["success"], asked.chance),
        "others_unchanged": share(columns["others"], asked.chance),
        "non_members_unchanged": share(columns["outside"], asked.chance, possible),
        "distance": average(columns["far"], chance),
    }


def unlearn(asked: Asked) -> tuple[int, dict[str, Score]]:
    """How far the model is from the one that never saw the items."""
    gone, held = asked.pack.lines("forget"), asked.pack.lines("retain")
    never = subject(Path(asked.pack.folder) / "forgotten").model
    model = asked.asks("unlearn", gone, held, copied=True)
    logits, right = asked.logits(model), asked.logits(never)
    after, wanted = asked.answers(model), asked.answers(never)
    kept = {p: a for p, a in asked.pack.held.items() if p not in {x["prompt"] for x in gone}}
    texts = [asked.subject.split(x["prompt"], x["answer"]) for x in gone]
    others = [asked.subject.split(*row) for row in asked.others]
    known = [
        -asked.judged(losses, each, some).numpy()
        for each in (model, never)
        for some in (texts, others)
    ]
    again = [asked.judged(relearned, each, texts) for each in (model, never)]
    forgotten = [
        [not asked.gives(x, y["prompt"], y["answer"]) for y in gone] for x in (after, wanted)
    ]
    stays = [asked.gives(after, p, a) for p, a in kept.items()]
    return len(gone), {
        "overall": both(forgotten[0], stays, asked.chance, float(np.mean(forgotten[1]))),
        "agreement": share([after[p] == wanted[p] for p in after], asked.chance),
        "distance": average(divergence(right, logits), float(divergence(right, 0 * right).mean())),
        "forgotten": share(forgotten[0], 1 - asked.chance, float(np.mean(forgotten[1]))),
        "kept": share(stays, asked.chance),
        "membership_auc": area(known[0], known[1], ceiling=area(known[2], known[3]).value),
        "relearning": average(again[0] - again[1], None),
    }


def relearned(model: Any, texts: Sequence[tuple[list[int], int]]) -> NDArray[np.float64]:
    """[N] the losses of texts after a few steps of training on them."""
    import torch

    model = copy.deepcopy(model).requires_grad_(True)
    optimiser = torch.optim.Adam(model.parameters(), RATE)
    for _ in range(STEPS):
        optimiser.zero_grad()
        losses(model, texts, grad=True).mean().backward()
        optimiser.step()
    found = losses(model, texts).double().numpy()
    if not np.isfinite(found).all():
        raise ValueError("its loss is not finite after training")
    return found


def extract(asked: Asked) -> tuple[int, dict[str, Score]]:
    """What is recovered from prompts, what is invented, and whether members are told apart."""
    scores, held, answers = dict[str, Score](), asked.pack.held, {*asked.pack.held.values()}
    if "extract" in asked.functions:
        texts = [asked.asks("extract", prompt) for prompt in asked.prompts]
        if not all(isinstance(x, str) for x in texts):
            raise Problem("it returned something that is not a text")
        right = [x.strip().startswith(a) for x, a in zip(texts, held.values(), strict=False)]
        wrong = [any(x.strip().startswith(a) for a in answers) for x in texts[len(held) :]]
        scores["recovered"] = share(right, 1 / len(answers))
        scores["false_recitations"] = share(wrong, 1.0, 0.0)
    if MEMBERSHIP in asked.functions:
        both = list(held.items()), asked.others
        found = [
            [float(numbers(asked.asks(MEMBERSHIP, f"{p} {a}"), ())) for p, a in rows]
            for rows in both
        ]
        scores["membership_auc"] = area(found[0], found[1])
    return len(asked.prompts), scores


def attribute(asked: Asked) -> tuple[int, dict[str, Score]]:
    """Whether the rows that an answer depends on come first, and the order of leaving them out."""
    items, queries = asked.pack.lines("facts"), asked.pack.lines("queries")
    place = {x["id"]: i for i, x in enumerate(items)}
    asked.watch.expect(len(queries))
    recall, ranks, agreement, chance = [], [], [], []
    for x in queries:
        query = {"prompt": x["prompt"], "answer": x["answer"]}
        values = numbers(asked.asks("attribute", query, items), (len(items),))
        true = np.isin(list(place), x["proponents"])
        precision, reciprocal = ranked(values, true)
        recall.append(precision)
        ranks.append(reciprocal)
        one, other = values[[place[y] for y in x["left_out"]]], np.array([*x["left_out"].values()])
        flat = np.ptp(one) == 0 or np.ptp(other) == 0
        agreement.append(0.0 if flat else float(np.corrcoef(one, other)[0, 1]))
        chance.append((true.mean(), first(len(true), int(true.sum()))))
        asked.watch.advance(1)
    floors = np.mean(chance, axis=0).tolist()
    return len(queries), {
        "recall": share(recall, floors[0]),
        "reciprocal_rank": share(ranks, floors[1]),
        "leave_one_out": average(agreement, 0.0, 1.0),
    }


def first(n: int, k: int) -> float:
    """The mean reciprocal rank of the first of k places in a random order of n.

    >>> first(2, 1)
    0.75
    """
    return sum(math.comb(n - r, k - 1) / r for r in range(1, n - k + 2)) / math.comb(n, k)


TASKS: dict[str, Callable[[Asked], tuple[int, dict[str, Score]]]] = {
    "locate": locate, "edit": edit, "unlearn": unlearn, "extract": extract, "attribute": attribute
}  # fmt: skip
