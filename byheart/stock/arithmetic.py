"""Running error bounds: what every execution of a stock network may differ by.

The executions are those of checker/FORMAT.md, section 10: any order of summation, fused or not,
each operation within the unit roundoff u = 2^-24. A quantity is a middle, computed in doubles, and
a radius that holds for all executions.

Two things make this rigorous in doubles. A middle is computed with unit roundoff 2^-53, so its own
error is at most 2^-29 of the bound for u with the same number of terms: U is u times 1 + 2^-20,
which covers both. A radius is made of sums and products of numbers that are not negative, fewer
than 2^22 of them: its relative error is below 2^-30, and `up` adds that. TINY covers results that
are flushed to zero: fewer than 2^24 of them in any sum, each below 2^-126.

Two errors of a norm are common to all lanes: one factor (from the variance) and one shift (from the
mean). Only the rest adds up over lanes. Keeping them apart makes the bounds about ten times
tighter. In the same way a neuron that is on writes a fixed direction with an uncertain strength,
and that is kept as one number per stream.

Of float16, results are stored: each is rounded to 16 bits after it was computed in float32, and has
to be in range (`Storage`). In float32 nothing is stored, and the bounds are those of operations.
"""

from typing import Any, NamedTuple

import numpy as np

from ..data.targets import Floats

U = 2.0**-24 * (1 + 2.0**-20)
FUNCTION = 8 * U  # exp, tanh, 1 / sqrt, the logistic function; cos and sin, absolutely; erf: twice
TINY = 1e-30
UP = 1 + 2.0**-30


def gamma(terms: Any) -> Any:
    """The relative error of a sum of this many terms: a number, or an array of them."""
    return terms * U / (1 - terms * U)


def sums(weights: Floats, bias: Floats | None, axis: int = 0) -> Floats:
    """The relative error of sums of products with these weights and a bias: gamma(k + 1) for k
    products that are not 0, and one rounding more for the bias."""
    return gamma(np.count_nonzero(weights, axis=axis) + (1 if bias is None else 2))


def up(radius: Floats) -> Floats:
    return radius * UP + TINY


class Unbounded(ArithmeticError):
    """The method cannot bound this network; nothing is said about it."""


class Storage(NamedTuple):
    """How results are stored: rounded within `unit`, relatively, and `tiny` where they are
    subnormal, and below `largest` in absolute value."""

    unit: float = 0.0
    tiny: float = 0.0
    largest: float = np.inf

    def of(self, x: Floats, r: Floats, c: Floats | float = 0.0) -> Floats:
        """The radius of x after it was stored; c may be added to it."""
        if not self.unit:
            return r
        size = np.abs(x) + r + np.abs(c)
        if not (size < self.largest).all():
            raise Unbounded(f"a result may exceed {self.largest:,.0f}, the largest of its type")
        return up(r + self.unit * size + self.tiny)

    def product(self, x: Floats, r: Floats, bias: Floats | None) -> Floats:
        """That of a product x with its bias, which may be added after the product was stored."""
        if self.unit and bias is not None:
            r = np.where(bias != 0, self.of(x - bias, r), r)
        return self.of(x, r)


STORAGE = {"float32": Storage(), "float16": Storage(2.0**-11 * (1 + 2.0**-20), 2.0**-25, 65504.0)}


class Stream(NamedTuple):
    """Streams x + r e + t c with |e| <= 1 in every lane, and one number |t| <= 1 per stream."""

    x: Floats  # the middle, [n, D]
    r: Floats  # the radius, [n, D]
    c: Floats  # a direction with an uncertain factor, [n, D]


def straightened(at: Stream) -> tuple[Stream, Floats]:
    """Streams whose norms are those of these times a number, and how far the square of that number
    is from 1, at most, [n, 1]: what an error adds along the middle itself, a norm takes away.

    With c = a x + c' and s = 1 + t a, at least k = 1 - |a|, the stream x + r e + t c is
    s (x + (r / s) e + (t / s) c'). A norm of s x is that of x with epsilon / s^2 in place of
    epsilon, and its roundings are relative. Any a will do, so this one need not be exact.
    """
    centred = at.x - at.x.mean(axis=1, keepdims=True)
    a = (at.c * centred).sum(axis=1, keepdims=True) / ((centred * centred).sum(axis=1)[:, None] + 1)
    a[np.abs(a) > 0.5] = 0.0
    k = 1 - np.abs(a)
    blurred = 2.0**-48 * (np.abs(at.c) + np.abs(a * at.x))  # of the difference itself
    return Stream(at.x, up((at.r + blurred) / k), (at.c - a * at.x) / k), up(1 / k**2 - 1)


class Normed:
    """What a norm gives: (y + e + shift' g s + t c) (1 + factor') + bias, each within its bound.

    y       the middle without the bias, [n, D]
    lane    bounds e, lane by lane
    shift   bounds the mean's error times the scale, [n, 1]; it is multiplied by the gain
    factor  bounds the relative error of the scale, [n, 1]
    c       the uncertain direction after the norm
    most    bounds the absolute value of every lane
    """

    def __init__(
        self,
        at: Stream,
        gain: Floats,
        bias: Floats | None,
        epsilon: float,
        rms: bool,
        storage: Storage = STORAGE["float32"],
        loose: Floats | float = 0.0,  # of the variance, [n, 1]
    ):
        size = at.x.shape[1]
        radius = at.r + np.abs(at.c)
        most = np.abs(at.x) + radius
        mean = np.zeros((len(at.x), 1)) if rms else at.x.mean(axis=1, keepdims=True)
        centred = at.x - mean
        variance = (centred * centred).mean(axis=1, keepdims=True)
        # var(x + e) - var(x) = 2 mean(d e) + var(e), since the d add up to 0; likewise for squares
        moved = (2 * np.abs(centred) * radius + radius * radius).mean(axis=1, keepdims=True)
        squares = (most * most).mean(axis=1, keepdims=True)
        off = shift = np.zeros_like(mean)
        around = gamma(size + 4) * squares  # docs/float32.md, lemma 4
        if not rms:
            sizes = most.mean(axis=1, keepdims=True)
            off = gamma(size + 48) * sizes
            shift = radius.mean(axis=1, keepdims=True) + off
            around = gamma(size + 16) * (squares + 2 * (np.abs(mean) + shift) * sizes) + off * off
        moved = up(moved + around + loose)
        if not (moved < (variance + epsilon) / 2).all():
            raise Unbounded("the error of a norm's variance is as large as the variance")
        scale = 1 / np.sqrt(variance + epsilon)
        share = moved / (variance + epsilon)
        self.factor = up((1 + 10 * U) / np.sqrt(1 - share) - 1)
        self.y = centred * scale * gain
        self.c = at.c * scale * gain
        self.bias = np.zeros(size) if bias is None else bias
        grown = scale * (1 + self.factor)
        self.shift = up(shift * grown)
        rounding = (6 * U * (most + np.abs(mean) + shift) * grown + TINY) * np.abs(gain)
        lane = at.r * np.abs(gain) * grown
        result = (np.abs(self.y) + np.abs(self.c) + self.shift * np.abs(gain)) * (1 + self.factor)
        result += lane + np.abs(self.bias)
        self.storage = storage
        self.rounding = storage.of(result, up(rounding + gamma(2) * (result + rounding)))
        self.lane = up(lane + self.rounding)
        self.most = up(result + self.rounding)
        self.gain = gain
        # what `pairs` needs: the stream, and what is off by rounding alone
        self.rms, self.scale, self.centred, self.r, self.direction = rms, scale, centred, at.r, at.c
        self.off = up(around * scale**2 / (1 - share))
        self.mean_off = up(off)

    def rows(self, chosen: np.ndarray | slice) -> "Normed":
        part = object.__new__(Normed)
        part.__dict__ = {
            name: x if name in ("bias", "gain", "rms", "storage") else x[chosen]
            for name, x in vars(self).items()
        }
        return part

    def times(self, weights: Floats, bias: Floats | None) -> tuple[Floats, Floats]:
        """Its product with a matrix [D, k], plus a bias, and the radius."""
        size = np.abs(weights)
        fixed = self.bias @ weights + (0.0 if bias is None else bias)
        moved = self.y @ weights
        total = self.most @ size + (0.0 if bias is None else np.abs(bias))
        radius = (
            self.factor * np.abs(moved)
            + (self.shift * np.abs(self.gain @ weights) + np.abs(self.c @ weights))
            * (1 + self.factor)
            + self.lane @ size
            + sums(weights, bias) * total
        )
        return moved + fixed, self.storage.product(moved + fixed, up(radius), bias)

    def many(self, weights: Floats, bias: Floats | None) -> tuple[Floats, Floats]:
        """The same with a larger radius, by Cauchy and Schwarz, for one product of matrices."""
        fixed = self.bias @ weights + (0.0 if bias is None else bias)
        moved = self.y @ weights
        length = np.linalg.norm(weights, axis=0)
        terms = sums(weights, bias).max(initial=0)
        lane = np.linalg.norm(self.lane, axis=1, keepdims=True)
        lane += terms * np.linalg.norm(self.most, axis=1, keepdims=True)
        radius = self.factor * np.abs(moved)
        radius += up(self.shift * (1 + self.factor)) * np.abs(self.gain @ weights)
        radius += lane * (UP * length)
        if self.c.any():
            radius += np.abs(self.c @ weights) * (1 + self.factor)
        if bias is not None:
            radius += terms * np.abs(bias)
        return moved + fixed, self.storage.product(moved + fixed, up(radius), bias)

    def pairs(
        self, weights: Floats, bias: Floats | None, rows: np.ndarray, columns: np.ndarray
    ) -> tuple[Floats, Floats]:
        """Single entries (row, column) of the product, with the small radius.

        Let d be the centred stream, V its mean square plus epsilon, s = 1 / sqrt(V), and let the
        stream be off by e. The norm then gives (d + e - mean e) s (1 + q)^(-1/2) with
        q = (2 mean(d e) + var e) / V, so that a product with weights w (times the gain) is off by
            sum_l e_l (w_l s - s mean(w) - A d_l / (D V)),  A = s sum w d,
        up to terms of second order. The last term is what makes this small: of an error along the
        stream the norm takes away what the product adds, and a key is nearly its own stream.
        (1 + q)^(-1/2) = 1 - q / 2 + p with |p| <= 3/8 q^2 (1 - |q|)^(-5/2).
        """
        part, w = self.rows(rows), weights[:, columns].T
        size = np.abs(w)
        added = np.zeros(len(columns)) if bias is None else bias[columns]

        def dot(a: Floats, b: Floats) -> Floats:
            return np.einsum("ij,ij->i", a, b)

        lanes, scale = w.shape[1], part.scale[:, 0]
        moved, gained = dot(part.y, w), w * self.gain
        together = np.zeros(len(w)) if self.rms else gained.sum(axis=1)
        slope = gained * part.scale - (scale * together / lanes)[:, None]
        along = (moved * scale**2 / lanes)[:, None] * part.centred
        radius = part.r + np.abs(part.direction)
        blurred = 2.0**-40 * dot(radius, np.abs(slope) + np.abs(along))  # of the difference itself
        slope = slope - along
        first = dot(part.r, np.abs(slope)) + np.abs(dot(part.direction, slope)) + blurred
        square = (radius * radius).mean(axis=1) * scale**2
        share = up((2 * np.abs(part.centred) * radius).mean(axis=1) * scale**2 + square)
        straight = scale * (dot(radius, np.abs(gained)) + np.abs(together) * radius.mean(axis=1))
        rest = 0.375 * share**2 * (1 - share) ** -2.5
        second = np.abs(moved) * (square / 2 + rest) + straight * (share / 2 + rest)
        inner = up(first + second)
        off = up((1 + 10 * U) / np.sqrt(1 - part.off[:, 0]) - 1)
        grown = scale * (1 + part.factor[:, 0])
        total = dot(part.most, size) + np.abs(added)
        found = (
            inner
            + off * (np.abs(moved) + inner)
            + part.mean_off[:, 0] * grown * np.abs(w @ self.gain)
            + dot(part.rounding, size)
            + sums(w, bias, axis=1) * total
        )
        out = moved + w @ self.bias + added
        return out, self.storage.product(out, up(found), added)


def times(
    x: Floats, r: Floats, weights: Floats, bias: Floats | None, storage: Storage
) -> tuple[Floats, Floats]:
    """x W + b and its radius, [n, k]."""
    size = np.abs(weights)
    out = x @ weights if bias is None else x @ weights + bias
    total = (np.abs(x) + r) @ size + (0.0 if bias is None else np.abs(bias))
    return out, storage.product(out, up(r @ size + sums(weights, bias) * total), bias)


def rounded(x: Floats, r: Floats, c: Floats | float = 0.0) -> Floats:
    """The radius of x after one rounding; c may be added to it."""
    return up(r + U * (np.abs(x) + r + np.abs(c)))


def added(x: Floats, r: Floats, y: Floats, s: Floats) -> tuple[Floats, Floats]:
    """A sum of two and its radius."""
    return x + y, rounded(x + y, r + s)


def multiplied(x: Floats, r: Floats, y: Floats, s: Floats) -> tuple[Floats, Floats]:
    """A product of two and its radius."""
    return x * y, rounded(x * y, r * (np.abs(y) + s) + np.abs(x) * s)
