"""Theorem 5 as proved, in long numbers: what the proof chooses, and what then holds.

Judges: the enclosures of byheart/enclose, which know nothing of how a decoder is made; a second
evaluation in balls; and, for one context, decimal numbers.
"""

import math
import random
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import byheart
from byheart import AssumptionError, from_rows
from byheart.constructions.one_layer_literal import OneLayerLiteral, build
from byheart.constructions.one_layer_literal.build import Scalars, solve
from byheart.data.contexts import contexts
from byheart.data.targets import targets
from byheart.exact.network import Dyadic, dyadic
from byheart.gadgets.logits import floor, wanted
from byheart.machine.watch import Watch
from byheart.models.verification import verify
from byheart.softmax import arb
from byheart.softmax import doubles as softmax
from byheart.softmax.decoder import ACTIVATIONS, Decoder
from byheart.softmax.prove import targets_of

ROWS = [
    (["a"], "b"), (["a"], "c"), (["a"], "c"), (["a", "b"], "a"), (["b", "a"], "d"),
    (["b"], "a"), (["b", "b", "a"], "a"), (["b", "b", "a"], "b"), (["c", "a", "a"], "c"),
]  # fmt: skip
# where the series of the activation at 1 converges: the distance to the nearest pole
RADIUS = {
    "logistic": math.hypot(1, math.pi),
    "tanh": math.hypot(1, math.pi / 2),
    "arctan": math.sqrt(2),
    "erf": math.inf,
    "gelu": math.inf,
}


def compiled(rows, **options):
    return byheart.compile(from_rows(rows), method="one-layer-literal", **options)


def many(count):
    """Contexts over three tokens, all short ones first."""
    found = [c for length in range(1, 6) for c in product("abc", repeat=length)][:count]
    return [(list(c), "abcd"[i * i % 7 % 4]) for i, c in enumerate(found)]


def fractions(tensor):
    """The weights as fractions, in the same shape."""
    found = np.empty(tensor.size, object)
    found[:] = [value.fraction for value in tensor.ravel()]
    return found.reshape(tensor.shape)


def scalar(decoder, context):
    """The sum of the coordinates of g, from the tensors as FORMAT.md has it, in decimals."""
    shape = decoder.shape
    e, u, q, k, v, o = (
        fractions(decoder[name])
        for name in ("embedding", "positions", "attention.query", "attention.key",
                     "attention.value", "attention.out")
    )  # fmt: skip
    x = [e[token] + u[t] for t, token in enumerate(context)]
    total = Decimal(0)
    for head in range(shape.heads):
        at = slice(head * shape.key_dimension, (head + 1) * shape.key_dimension)
        scores = [_decimal((k[at] @ xt) @ (q[at] @ x[-1])) for xt in x]
        weights = [score.exp() for score in scores]
        at = slice(head * shape.value_dimension, (head + 1) * shape.value_dimension)
        said = [_decimal((o[:, at] @ (v[at] @ xt)).sum()) for xt in x]
        total += sum(w * y for w, y in zip(weights, said, strict=True)) / sum(weights)
    return total + (_decimal(x[-1].sum()) if shape.skip else 0)


def _decimal(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


# --- a case by hand


def test_one_context():
    """One token: attention says z + u, and V is the wanted logit divided by psi(w (z + u) + 1)."""
    model = compiled([(["a"], "b")])
    decoder = model.network
    z, u, w = (
        decoder[name][0, 0].fraction for name in ("embedding", "positions", "hidden")
    )  # token 0 is "a"
    with localcontext() as digits:
        digits.prec = 60
        psi = 1 / (1 + (-_decimal(w * (z + u) + 1)).exp())
        logits = [_decimal(v.fraction) * psi for v in decoder["output"][:, 0]]
    assert model.tokens == ("a", "b") and logits[0] == 0
    assert abs(float(logits[1]) - floor(1e-9, 2)) < 2**-35  # logits lie on a grid of 2^-36
    assert model.record.verification.evidence == "proved"


# --- what the proof chooses


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(("dimension", "heads", "head"), [(1, 1, 1), (3, 2, 5), (4, 3, 2)])
def test_the_reduction_of_the_proof(dimension, heads, head, skip):
    """Rows are constant, and the sum of coordinates is nu f(z, u, .) with scores kappa x x."""
    model = compiled(ROWS, dimension=dimension, heads=heads, head_dimension=head, skip=skip)
    decoder = model.network
    assert decoder.number == "dyadic"
    for name in ("embedding", "positions", "hidden"):
        assert all(len(set(row)) == 1 for row in decoder[name].tolist())
    entry = {}
    for name in ("query", "key", "value", "out"):
        (entry[name],) = set(decoder[f"attention.{name}"].ravel().tolist())
        assert entry[name].mantissa == 1  # a power of two
    kappa = dimension**2 * head * entry["query"].fraction * entry["key"].fraction
    nu = dimension**2 * head * heads * entry["value"].fraction * entry["out"].fraction
    assert 1 <= kappa < 2 and 1 <= nu < 2
    assert (dimension, heads, head) != (1, 1, 1) or kappa == nu == 1
    z, u = (fractions(decoder[name])[:, 0] for name in ("embedding", "positions"))
    with localcontext() as digits:
        digits.prec = 50
        x = [_decimal(z[g] + u[t]) for t, g in enumerate([1, 0, 2])]
        weights = [(_decimal(kappa) * v * x[-1]).exp() for v in x]
        f = sum(w * v for w, v in zip(weights, x, strict=True)) / sum(weights)
        number = _decimal(nu) * f + (dimension * x[-1] if skip else 0)
        assert abs(scalar(decoder, [1, 0, 2]) - number) < Decimal("1e-45")


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_choices_of_the_proof(activation):
    """z, u > 0; one bias; slopes within the radius of convergence; short numbers; V on a grid."""
    model = compiled(ROWS, activation=activation, dimension=2, skip=True)
    decoder = model.network
    for name in ("embedding", "positions"):
        assert all(0 < value < 1 for value in fractions(decoder[name]).ravel())
        assert max(value.digits for value in decoder[name].ravel()) <= 24
    assert set(decoder["hidden.bias"].tolist()) == {Dyadic(1, 0)}
    slopes = fractions(decoder["hidden"])[:, 0]
    assert len(set(slopes)) == len(slopes) == decoder.shape.neurons
    assert max(value.digits for value in decoder["hidden"].ravel()) <= 24
    s = [float(scalar(decoder, model.numbers(list(c)))) for c in {tuple(c) for c, _ in ROWS}]
    assert min(s) > 0
    assert max(map(float, slopes)) * max(s) < RADIUS[activation]
    assert min(map(float, slopes)) * max(s) > -RADIUS[activation]
    assert all(value.exponent >= -48 for value in decoder["output"].ravel())


@pytest.mark.parametrize("dimension", [1, 3])
def test_the_number_of_parameters(dimension):
    """G2 and G3."""
    model = compiled(ROWS, dimension=dimension, heads=2, head_dimension=3)
    n, omega, length = 6, 4, 3
    dense = omega * n + n * (dimension + 1) + 2 * 2 * (3 + 3) * dimension
    assert model.network.shape.neurons == n
    assert model.record.parameters.dense == dense + (omega + length) * dimension


# --- what then holds


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_distribution_is_proved(activation, skip):
    """G1, by the enclosures and by a second evaluation."""
    model = compiled(ROWS, activation=activation, skip=skip, dimension=2, heads=2)
    found = model.record.verification
    assert (found.evidence, found.checked) == ("proved", 6)
    assert found.fit.max <= 1e-9 and found.fit.loss - found.fit.entropy <= 9e-9
    assert model.distribution(["a"]) == pytest.approx([0, 1 / 3, 2 / 3, 0], abs=2e-9)
    assert model.recall(["b", "a"]) == "d" and model.recall(["c", "a", "a"]) == "c"


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("abc"), min_size=1, max_size=4), st.sampled_from("abcd")
        ),
        min_size=1,
        max_size=16,
    ),
    st.integers(0, 100),
    st.sampled_from([1e-15, 1e-9, 1e-3, 5.0]),
)
def test_any_data_is_proved(rows, seed, gap):
    if len({token for context, label in rows for token in (*context, label)}) < 2:
        return
    model = compiled(rows, seed=seed, gap=gap)
    found = model.record.verification
    assert (found.evidence, found.engine) == ("proved", "dense")
    data = targets_of(model, from_rows(rows))
    said = arb.distributions(model.network, data.tokens, data.starts)
    places = np.repeat(np.arange(len(data)), data.support)
    off = np.abs(said[places, data.following] - data.probabilities)
    assert off.max() <= math.sqrt(gap / 2) + 1e-12  # Pinsker's inequality


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_independent_checker_agrees(activation, failures):
    rows = many(12)
    model = compiled(rows, activation=activation, skip=True, dimension=3, heads=2)
    assert failures(model, rows) == []
    slopes = model.network["hidden"].copy()
    slopes[[0, 1]] = slopes[[1, 0]]  # the counts and bits stay
    wrong = failures(_changed(model, "hidden.weight", slopes), rows)
    assert "divergence" in " ".join(wrong)


def test_contexts_that_differ_in_length_only():
    model = compiled([(["a"] * length, "xyz"[length % 3]) for length in range(1, 31)])
    assert model.record.verification.evidence == "proved"


def test_two_evaluations_agree():
    """The precision of the balls does not matter, and the run in doubles is written apart."""
    model = compiled(ROWS, dimension=2, heads=2, skip=True)
    questions = [[0], [1, 0, 2], [3, 3], [2, 1]]
    tokens = np.concatenate(questions)
    starts = np.cumsum([0, *map(len, questions)])
    ours = arb.logits(model.network, tokens, starts)
    with ctx.workprec(600):
        theirs = np.array([[float(x) for x in row] for row in arb.Reader(model.network)(questions)])
    assert np.allclose(ours, theirs, rtol=1e-14, atol=0)
    assert (softmax.logits(model.network, tokens, starts) == ours).all()
    observed = softmax.divergences(model.network, targets_of(model, from_rows(ROWS))).values.max()
    assert observed == pytest.approx(model.record.verification.fit.max, rel=1e-6)
    for options in ({"method": "one-layer", "skip": True}, {"method": "token-averaging"}):
        plain = byheart.compile(from_rows(ROWS), dimension=3, **options)
        doubles = softmax.distributions(plain.network, tokens, starts)
        balls = arb.distributions(plain.network, tokens, starts)
        assert np.abs(doubles - balls).max() < 1e-9


# --- doubles would not do, and every digit counts


def test_doubles_do_not_hold_it():
    """V rounded to doubles refutes the claim: the reason for the long numbers."""
    rows = many(40)
    model = compiled(rows)
    assert verify(model, from_rows(rows)).evidence == "proved"
    assert [model.recall(context) for context, _ in rows] == [label for _, label in rows]
    output = model.network["output"]
    short = np.empty(output.shape, object)
    for place in np.ndindex(output.shape):
        short[place] = dyadic(float(output[place].fraction))
    assert verify(_changed(model, "output.weight", short), from_rows(rows)).evidence == "refuted"


@pytest.mark.parametrize("name", ["embedding.weight", "positions.weight", "hidden.weight"])
def test_a_changed_weight_is_refuted(name):
    rows = many(20)
    model = compiled(rows)
    tensor = model.network.tensors[name].copy()
    tensor[0, 0] = dyadic(tensor[0, 0].fraction + Fraction(1, 2**40))
    assert verify(_changed(model, name, tensor), from_rows(rows)).evidence == "refuted"


def _changed(model, name, tensor):
    network = model.network
    return replace(model, network=Decoder(network.shape, {**network.tensors, name: tensor}))


# --- assumptions, seeds, files


def test_too_many_contexts():
    """A2: the message names the limit and what to use."""
    with pytest.raises(AssumptionError, match="A2 .* at most 100 contexts.* 101; .*one-layer"):
        compiled(many(101))


def test_a_vocabulary_of_one():
    with pytest.raises(AssumptionError, match="A1 fails: one-layer-literal"):
        compiled([(["a"], "a")])


def test_seeds():
    same, again, other = (compiled(ROWS, seed=seed).network for seed in (0, 0, 1))
    assert same == again and same != other


def test_close_draws_are_redrawn(monkeypatch):
    """Where two contexts are not told apart, the next draw is tried, and that is reported."""
    true, calls = build.solve, []

    def fails_once(*arguments):
        calls.append(1)
        return true(*arguments) if len(calls) > 1 else None

    monkeypatch.setattr(build, "solve", fails_once)
    dataset = from_rows(ROWS)
    data, said, watch = targets(dataset, contexts(dataset, positions=True)), [], Watch()
    watch.note = said.append
    found = OneLayerLiteral().interpolate(data, watch)
    assert found.tries == 2 and "draw 1 of 8" in said[0]
    monkeypatch.setattr(build, "solve", lambda *arguments: None)
    with pytest.raises(byheart.ByheartError, match="another seed"):
        OneLayerLiteral().interpolate(data, watch)


def test_equal_numbers_are_not_solved():
    """Two tokens with one value: Theorem 4 fails for this draw, and it is not used."""
    dataset = from_rows([(["a"], "b"), (["b"], "a")])
    data = targets(dataset, contexts(dataset, positions=True))
    half, one = Fraction(1, 2), Fraction(1)
    equal, apart = (Scalars([half, z], [half], one, one, 0) for z in (half, one))
    arguments = "logistic", data, wanted(data, 1e-9), random.Random(1)
    assert solve(equal, *arguments) is None and solve(apart, *arguments) is not None


def test_the_notes_and_the_files(tmp_path):
    rows = many(30)
    model = compiled(rows)
    longest, solved = model.record.notes
    assert longest == f"the longest weight has {model.record.bits.largest:,} bits"
    assert "608 bits" in solved  # 16 n + 128
    largest = max(abs(v.fraction) for v in model.network["output"].ravel())
    exponent = int(solved.rpartition("^")[2])
    assert exponent - 1 <= math.log10(largest) <= exponent + 1
    model.save(tmp_path / "model")
    opened = byheart.open(tmp_path / "model")
    assert opened.network == model.network
    assert verify(opened, from_rows(rows)).evidence == "proved"
