"""The layers that teach facts to a model: keys from its own streams, and values that lead."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..errors import ByheartError
from ..machine.watch import Watch
from . import keys as keys_of
from . import values
from .facts import Fact, Ids, Kept, Settled
from .family import Trained
from .keys import Keys
from .running import streams

NOISE_SAMPLE = 64
SHARE_OF_16_BIT = 0.8  # of the runs in 16 bit, whose noise has no bound that leaves room
MARGIN = 6.0  # nats, or nearly what the last norm lets a token have


@dataclass(frozen=True, eq=False)
class Plan:
    """What is added, and what was found on the way."""

    settled: Settled
    contexts: Mapping[Ids, int]  # in the order of the neurons, each with the token that follows
    keys: Keys
    reach: torch.Tensor
    # how far distances differ between float32 and doubles; in 16 bit, between two runs
    noise: float
    layers: Sequence[Mapping[str, torch.Tensor]]
    first: int
    width: int

    def place(self, number: int) -> tuple[int, int]:
        """The layer and neuron of a context, by its number."""
        return self.first + number // self.width, number % self.width

    def truth(self) -> Iterator[dict[str, Any]]:
        numbers = {context: i for i, context in enumerate(self.contexts)}
        for fact in sorted(self.settled.facts, key=lambda x: (x.tokens, x.given)):
            own = [numbers[context] for context in fact.contexts]
            yield {
                **fact._asdict(),
                "neurons": [list(self.place(i)) for i in own],
                "reach": [round(float(self.reach[i]), 12) for i in own],
                "nearest": [round(float(self.keys.room[i]), 12) for i in own],
            }


def planned(
    trained: Trained, settled: Settled, kept: Sequence[Kept], reach: float | None, margin: float |
    None, leave_out: bool, watch: Watch,
) -> Plan:  # fmt: skip
    """The added layers; AssumptionError names the facts that have no room or no answer.

    With `leave_out` these are left out instead.
    """

    def refusal(advice: str) -> str | None:
        if leave_out:
            return None
        return (
            f"{{}} cannot be taught ({{}}); {advice}, or leave such facts out with "
            "`leave_out=True`."
        )

    given = settled.contexts
    watch.stage("reading contexts", len(given))
    found = _last(trained, list(given), watch)
    watch.stage("answers")
    tokens = torch.tensor(sorted(set(given.values())))
    directions = values.directions(trained.head(), tokens, margin or MARGIN)
    which = {int(token): i for i, token in enumerate(tokens)}
    margins = directions.given(margin or MARGIN)
    leads = values.LEADS * MARGIN if margin is None else 0.999 * margin
    reasons: dict[Fact, str] = {}
    for fact in settled.facts:
        short = [which[t] for t in fact.contexts.values() if margins[which[t]] <= leads]
        if short:
            most = float(directions.bounds[short].min())
            reasons[fact] = f"no stream gives a token of its answer more than {most:.2g} nats"
    settled = settled.without(reasons, refusal("use a smaller `margin=...`"))
    keys = trained.normed(torch.stack([found[x] for x in given]))
    noise = _noise(trained, given, found, watch)
    watch.stage("reading what is kept", sum(len(text.rows) for text in kept))
    least, places = keys_of.nearest_of(keys, _positions(trained, given, kept, watch))
    numbers = {context: i for i, context in enumerate(given)}
    most = max(keys_of.REACH, keys_of.NOISES * noise) if reach is None else reach
    if most <= noise:
        raise ByheartError(
            f"a reach of {most:g} is below the noise of {trained.dtype} here, {noise:.2g}; use a "
            "larger `reach=...`."
        )
    while True:
        live = settled.contexts
        at = torch.tensor([numbers[x] for x in live])
        rows = torch.stack([found[x] for x in live]).double()
        own = Keys(keys[at], *keys_of.among(keys[at]), least[at], places[at])
        reasons = _without_room(settled, list(live), own, noise)
        if not reasons:
            break
        settled = settled.without(reasons, refusal("use facts that are further apart"))
    contexts = list(live)
    follow = torch.tensor(list(live.values()))
    order = torch.tensor([which[int(t)] for t in follow])
    units = directions.vectors[order]
    normed = trained.exact_norm
    size = values.lengths(trained.head(), normed, rows, units, follow, margins[order])
    vectors = size[:, None] * units
    width, room = trained.size()[1], own.room.clone()
    for begin in range(width, len(contexts), width):  # later layers see what earlier ones wrote
        for strength in (values.LEAST, 1.0):
            some, before = slice(begin, begin + width), slice(0, begin)
            after = normed(rows[before] + strength * vectors[before])
            nearer = keys_of.distances(own.keys[some], after).min(1).values
            room[some] = torch.minimum(room[some], nearer)
    if bool((keys_of.SHARE * room <= noise).any()):
        raise ByheartError("an answer that is written leads a later layer astray; teach less.")
    reaches = keys_of.chosen(room, reach, noise)
    return Plan(
        settled, live, own, reaches, noise, keys_of.layers(trained, own.keys, reaches, vectors),
        len(trained.blocks), width,
    )  # fmt: skip


def _last(trained: Trained, contexts: Sequence[Ids], watch: Watch) -> dict[Ids, torch.Tensor]:
    run = streams(trained, contexts, last=True, advance=watch.advance)
    return {contexts[i]: stream for i, stream in run}


def _noise(
    trained: Trained, given: Mapping[Ids, int], found: Mapping[Ids, torch.Tensor], watch: Watch
) -> float:
    """How far distances between contexts differ from what doubles, or other batches, give."""
    sample = list(given)[:: max(1, len(given) // NOISE_SAMPLE)][:NOISE_SAMPLE]
    first, share = trained.normed(torch.stack([found[x] for x in sample])), 1.0
    if trained.dtype == torch.float32:  # what doubles make of them
        wide = replace(trained.checkpoint, model=copy.deepcopy(trained.model).double())
        again = _last(replace(trained, checkpoint=wide), sample, watch)
        second = trained.exact_norm(torch.stack([again[x] for x in sample]))
    else:  # what this type does one by one
        alone = [_last(trained, [x], watch)[x] for x in sample]
        second, share = trained.normed(torch.stack(alone)), SHARE_OF_16_BIT
    least = torch.finfo(trained.dtype).eps ** 2  # 1 - cosine is quadratic in errors
    return max(least, keys_of.noise(first, second, share))


def _positions(
    trained: Trained, given: Mapping[Ids, int], kept: Sequence[Kept], watch: Watch
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The normed streams of kept positions that are no taught contexts, and their numbers."""
    for number, text in enumerate(kept):
        for row, stream in streams(trained, text.rows, advance=watch.advance):
            tokens, size = tuple(text.rows[row]), len(text.rows[row])
            others = [i for i in range(size) if tokens[: i + 1] not in given]
            if others:
                places = torch.tensor([number << 48 | row << 24 | i for i in others])
                yield trained.normed(stream[torch.tensor(others)]), places


def spot(kept: Sequence[Kept], place: int) -> tuple[str, Ids]:
    """The name of the text that a place is in, and the tokens up to there."""
    text = kept[place >> 48]
    row = text.rows[(place >> 24) & 0xFFFFFF]
    return text.name, tuple(row[: (place & 0xFFFFFF) + 1])


def _without_room(
    settled: Settled, contexts: list[Ids], keys: Keys, noise: float
) -> dict[Fact, str]:
    """Facts that cannot be told from a kept position, or from a fact before them."""
    few = keys_of.SHARE * keys.room <= noise
    if not few.any():
        return {}
    owner: dict[Ids, Fact] = {}
    for fact in settled.facts:
        for context in fact.contexts:
            owner.setdefault(context, fact)
    reasons: dict[Fact, str] = {}
    for i in few.nonzero()[:, 0].tolist():
        fact, far = owner[contexts[i]], float(keys.room[i])
        if float(keys.kept[i]) <= far:
            what = "a position that is kept"
        else:
            other = owner[contexts[int(keys.neighbour[i])]]
            if other is fact or other in reasons:
                continue
            what = other.name
        reasons.setdefault(fact, f"its stream is {far:.2g} from that of {what}")
    return reasons or {owner[contexts[int(few.nonzero()[0, 0])]]: "two of its own contexts meet"}
