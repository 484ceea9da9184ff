"""What a taught neuron writes, so that its answer leads by a margin however strongly it is on.

Let x be the last stream and n(x) its norm with gain 1. The streams at which token y leads by m,

    C = {x : (E_y - E_j) n(x) + b_y - b_j >= m for all j},

are a convex cone where m exceeds every b_y - b_j: each condition is linear in x >= const * |x|. So
for a direction u inside C, h + s u in C implies h + t u in C for all t >= s: adding elements of a
convex cone stays in it. One direction per token is enough, and its length is found per context.

The direction is the largest margin's: u = argmax min_j (a_j u + b_j) over |u| = sqrt(D), where
a_j = E_y - E_j. For all weights w >= 0 of sum 1, its value is at most sqrt(D) |sum w_j a_j| +
sum w_j b_j. Frank and Wolfe's steps lower this bound and raise the margin, until the margin is what
is wanted or nearly the bound: then the token is known to lead by no more, up to the rounding of
doubles. A context gets nearly the margin of its direction, so that a finite length is enough.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch

STEPS = 20_000
NEARLY = 0.9
LEADS = 1e-3  # of the margin: a token that cannot lead by more does not lead
LEAST = 0.5  # of the full strength: from there on, the answer leads by the margin


class Directions(NamedTuple):
    """[k, D] a direction per token, its margin, and what no direction exceeds."""

    vectors: torch.Tensor
    margins: torch.Tensor
    bounds: torch.Tensor

    def given(self, margin: float) -> torch.Tensor:
        """The margin of a context, for each token."""
        return (NEARLY * self.margins).clamp(max=margin)


def directions(
    head: tuple[torch.Tensor, torch.Tensor], tokens: torch.Tensor, margin: float
) -> Directions:
    """A direction for each token by which it leads all others by more than the margin, or by nearly
    the most that is possible."""
    matrix, bias = head
    root, own, level = math.sqrt(matrix.shape[1]), matrix[tokens], bias[tokens]
    point, shift = own - matrix.mean(0), level - bias.mean()  # sums of a_j and of b_j, weighted
    count = len(tokens)
    vectors = torch.zeros_like(own)
    margins = torch.full((count,), -math.inf, dtype=torch.double)
    bounds = torch.full((count,), math.inf, dtype=torch.double)
    left = torch.arange(count)
    for _ in range(STEPS):
        length = point[left].norm(dim=1).clamp(min=1e-300)
        unit = point[left] * (root / length)[:, None]
        scores = unit @ matrix.T + bias
        scores.scatter_(1, tokens[left, None], -math.inf)
        highest, rival = scores.max(1)
        leads = (unit * own[left]).sum(1) + level[left] - highest
        better = leads > margins[left]
        margins[left[better]], vectors[left[better]] = leads[better], unit[better]
        bounds[left] = torch.minimum(bounds[left], root * length + shift[left])
        wanted = (NEARLY * bounds[left]).clamp(max=margin / NEARLY)
        going = (margins[left] < wanted) & (bounds[left] > LEADS * margin)
        left, rival = left[going], rival[going]
        if not len(left):
            break
        step = own[left] - matrix[rival] - point[left]
        lift = level[left] - bias[rival] - shift[left]
        t = _least(point[left], step, lift / root)
        point[left] += t[:, None] * step
        shift[left] += t * lift
    return Directions(vectors, margins, bounds)


def _least(point: torch.Tensor, step: torch.Tensor, lift: torch.Tensor) -> torch.Tensor:
    """The t of [0, 1] at which |point + t step| + t lift is least."""
    along, square = (point * step).sum(1), (step * step).sum(1).clamp(min=1e-300)
    rest = (point.square().sum(1) - along.square() / square).clamp(min=0)
    inside = (1 - lift.square() / square).clamp(min=1e-12)
    slope = -lift.sign() * lift.abs() * (rest / inside).sqrt()
    t = (slope - along) / square
    t = torch.where(lift.square() >= square, (lift < 0).double(), t)
    return t.clamp(0, 1)


def lengths(
    head: tuple[torch.Tensor, torch.Tensor], normed: Callable[[torch.Tensor], torch.Tensor],
    streams: torch.Tensor, vectors: torch.Tensor, tokens: torch.Tensor, margin: torch.Tensor,
) -> torch.Tensor:  # fmt: skip
    """[k] the least multiple of each direction that, at the least strength, gives the margin."""
    matrix, bias = head
    size = streams.norm(dim=1) / vectors.norm(dim=1)
    low, high = torch.zeros(len(streams), dtype=torch.double), size.clone()

    def leads(at: torch.Tensor) -> torch.Tensor:
        scores = normed(streams + at[:, None] * vectors) @ matrix.T + bias
        own = scores.gather(1, tokens[:, None])[:, 0]
        scores.scatter_(1, tokens[:, None], -math.inf)
        return own - scores.max(1).values

    for _ in range(60):
        short = leads(high) < margin
        if not short.any():
            break
        high[short] *= 2
    for _ in range(20):
        middle = (low + high) / 2
        enough = leads(middle) >= margin
        high, low = torch.where(enough, middle, high), torch.where(enough, low, middle)
    return high / LEAST
