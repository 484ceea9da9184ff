"""The neurons of taught contexts: their keys, how far they reach, and their tensors.

The stream of a context after the norm is k; another one is x. Their distance is 1 - k x / k k,
which is 1 - cosine where both have the length sqrt(D), so no stream is nearer to a key than its
own. A neuron of reach r has the argument Z (1 - distance / r): Z at its own context, 0 at distance
r, and at most -Z from 2 r on. Z is twice what makes an activation exactly 0: it is 0 from 1.5 r on.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from .family import STRENGTH, Trained

REACH = 3e-4  # unless there is less room, or the noise is too large
NOISES = 4  # reach in units of the noise, at least
SHARE = 0.45  # of the distance to the nearest other context that a neuron may reach
BLOCK = 1 << 12


@dataclass(frozen=True, eq=False)
class Keys:
    """[k, D] the normed streams of contexts, and how near others are."""

    keys: torch.Tensor
    # [k] the distance to the nearest other context, and `neighbour` its number
    nearest: torch.Tensor
    neighbour: torch.Tensor
    # [k] the distance to the nearest position that must stay, and `place` where it is
    kept: torch.Tensor
    place: torch.Tensor

    @property
    def room(self) -> torch.Tensor:
        return torch.minimum(self.nearest, self.kept)


def distances(keys: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """[k, n] 1 - k x / k k."""
    return 1 - (keys @ others.T) / keys.square().sum(1, keepdim=True)


def among(keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The distance from each key to the nearest other one, and which it is."""
    count = len(keys)
    nearest = torch.full((count,), 2.0, dtype=torch.double)
    which = torch.full((count,), -1)
    for begin in range(0, count, BLOCK):
        found = distances(keys[begin : begin + BLOCK], keys)
        own = torch.arange(len(found))
        found[own, own + begin] = torch.inf
        if count > 1:
            nearest[begin : begin + BLOCK], which[begin : begin + BLOCK] = found.min(1)
    return nearest, which


def nearest_of(
    keys: torch.Tensor, positions: Iterable[tuple[torch.Tensor, torch.Tensor]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The distance from each key to the nearest position, and its number.

    positions  pairs of normed streams and their numbers
    """
    least = torch.full((len(keys),), 2.0, dtype=torch.double)
    place = torch.full((len(keys),), -1)
    for others, numbers in positions:
        for begin in range(0, len(others), BLOCK):
            found, which = distances(keys, others[begin : begin + BLOCK]).min(1)
            nearer = found < least
            least[nearer], place[nearer] = found[nearer], numbers[begin + which[nearer]]
    return least, place


def noise(one: torch.Tensor, two: torch.Tensor, share: float = 1.0) -> float:
    """How far short distances differ between two runs of the same contexts, in this share of
    them: that of a context from itself, and that from its nearest neighbour."""
    _, near = among(one)
    across, before = distances(one, two), distances(one, one)
    own, at = torch.arange(len(one)), near.clamp(min=0)
    found = torch.cat([across[own, own], across[own, at] - before[own, at]]).abs()
    return float(found.quantile(share))


def chosen(room: torch.Tensor, reach: float | None, noise: float) -> torch.Tensor:
    """[k] how far each neuron reaches."""
    most = max(REACH, NOISES * noise) if reach is None else reach
    return (SHARE * room).clamp(max=most)


def layers(
    trained: Trained, keys: torch.Tensor, reach: torch.Tensor, values: torch.Tensor
) -> list[dict[str, torch.Tensor]]:
    """The tensors of the added layers: one neuron per key, in their order."""
    family, size = trained.family, trained.size()[1]
    strength = STRENGTH * trained.off
    own, slope = keys.square().sum(1), strength / reach
    bias = rounded(-(slope - strength), trained.dtype)
    # scaled so that, with the rounded bias, the argument of the own context is the strength
    gates = matched(keys * ((strength - bias) / own)[:, None], keys, strength - bias, trained.dtype)
    written = rounded(values / strength, trained.dtype)
    result = []
    for begin in range(0, len(keys), size):
        layer, some = trained.layer(), slice(begin, begin + size)
        count = len(keys[some])
        for name, rows in ((family.gate, gates[some]), (family.down, written[some])):
            matrix = layer[f"{name}.weight"]
            out = (name == family.gate) != family.transposed
            part = matrix[:count] if out else matrix[:, :count]
            part.copy_(rows if out else rows.T)
        layer[f"{family.gate}.bias"][:count] = bias[some].to(layer[f"{family.gate}.bias"].dtype)
        result.append(layer)
    return result


def rounded(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The nearest numbers of a type, as doubles."""
    return values.to(dtype).double()


def matched(
    rows: torch.Tensor, keys: torch.Tensor, wanted: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """Rows rounded to a type such that row k times key k stays what it was.

    Numbers with the largest rounding errors come first; what they leave is put on the next one.
    """
    found = rounded(rows, dtype)
    order = (rows * keys).abs().argsort(1, descending=True)
    left = wanted - (found * keys).sum(1)
    at = torch.arange(len(rows))
    for place in order.T:
        key = keys[at, place]
        old = found[at, place]
        new = rounded(torch.where(key != 0, old + left / key, old), dtype)
        better = (left - (new - old) * key).abs() < left.abs()
        found[at, place] = torch.where(better, new, old)
        left = torch.where(better, left - (new - old) * key, left)
    return found
