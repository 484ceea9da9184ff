"""Theorem 1 with epsilon = 0 and Corollary 1: attention alone stores what follows contexts."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byheart
from byheart.constructions.attention_only.goal import margins, rounded_up, shaken, stretch
from byheart.constructions.attention_only.plan import reserved
from byheart.data.contexts import contexts
from byheart.data.load import from_rows
from byheart.data.targets import targets
from byheart.errors import AssumptionError, ByheartError
from byheart.gadgets.heads import draw, solve, tight
from byheart.machine import memory
from byheart.models.model import Model
from byheart.models.verification import verify
from byheart.softmax.decoder import ATTENTION, Decoder, Shape
from byheart.softmax.doubles import distributions, logits
from byheart.theory.dana2024.capacity import heads_needed, parameters, theorem_1

METHOD = "attention-only"
FEW = [(["a", "b"], "c"), (["a", "b"], "d"), (["a", "a"], "b"), (["b", "b"], "a")]


def compiled(rows, **options):
    return byheart.compile(from_rows(rows), method=METHOD, **options)


def spoken(model, tokens):
    return dict(zip(model.tokens, model.distribution(tokens).tolist(), strict=True))


def near(probabilities):
    return pytest.approx(probabilities, abs=1e-4)  # the gap is 1e-9: |p - q| < sqrt(2 gap)


def pairs(count, vocabulary=20, labels=20, seed=0):
    """Different pairs of tokens, each with a random label."""
    random = np.random.default_rng(seed)
    chosen = random.permutation(vocabulary**2)[:count]
    return [
        ([f"w{i // vocabulary}", f"w{i % vocabulary}"], f"w{random.integers(labels)}")
        for i in chosen.tolist()
    ]


@st.composite
def associations(draw):
    """One label for each of some contexts of different lengths; some labels are no tokens."""
    tokens = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4).map(tuple)
    found = draw(st.dictionaries(tokens, st.sampled_from("abxyz"), min_size=2, max_size=25))
    return [(list(tokens), label) for tokens, label in found.items()]


@st.composite
def distributions_drawn(draw):
    tokens = st.lists(st.sampled_from("abc"), min_size=1, max_size=3)
    row = st.tuples(tokens, st.sampled_from("abxy"))
    return [*draw(st.lists(row, min_size=1, max_size=25)), (["a"], "x"), (["a"], "y")]


def proved(model):
    verified = model.record.verification
    assert verified.evidence == "proved" and verified.fit.max <= model.claim.gap
    return verified


def counted(model):
    """G3, by the formula, by the shape and by what is there."""
    shape = model.network.shape
    sizes = shape.vocabulary, shape.length, shape.dimension, shape.value_dimension, shape.heads
    N, S, d, d_h, H = sizes
    assert N == len(model.tokens) and shape.neurons == 0 and shape.skip
    formula = d * (S + 2 * N + 4 * d_h * H)
    assert formula == parameters(*sizes) == shape.parameters
    assert formula == sum(tensor.size for tensor in model.network.tensors.values())
    assert model.record.parameters.dense == formula


# --- what it gives


@pytest.mark.parametrize("tight", [False, True])
def test_by_hand(tight):
    """After a, b comes c or d, each half of the time; after b, b always a."""
    model = compiled(FEW, tight=tight)
    assert model.tokens == ("a", "b", "c", "d") and model.network.shape.padding is None
    assert spoken(model, ["a", "b"]) == near({"a": 0, "b": 0, "c": 0.5, "d": 0.5})
    assert spoken(model, ["b", "b"]) == near({"a": 1, "b": 0, "c": 0, "d": 0})
    assert model.recall(["a", "a"]) == "b"
    assert model.claim.gap == 1e-9
    proved(model)
    counted(model)


def test_one_head_by_hand():
    """d = 1 and three contexts, logits by eq. (2) without a matrix."""
    model = compiled([([0, 1], 0), ([1, 0], 1), ([0, 0], 1)], dimension=1, head_dimension=1)
    network = model.network
    e, pos = network["embedding"][:, 0], network["positions"][:, 0]
    x = [e[0] + pos[0], e[1] + pos[1]]
    added = x[1]
    for h in range(network.shape.heads):
        q, k, v, o = (
            float(network[f"attention.{name}"].ravel()[h])
            for name in ("query", "key", "value", "out")
        )
        weights = [math.exp(q * x[1] * k * y) for y in x]
        added += o * v * sum(w * y for w, y in zip(weights, x, strict=True)) / sum(weights)
    said = network["output"][:, 0] * added
    assert said[0] - said[1] > 20
    found = distributions(network, np.array([0, 1]), np.array([0, 2]))[0]
    assert math.log(found[0] / found[1]) == pytest.approx(said[0] - said[1], rel=1e-6)


@settings(max_examples=12, deadline=None)
@given(rows=associations(), exponent=st.integers(-12, -1), seed=st.integers(0, 9))
def test_associations_are_kept(rows, exponent, seed):
    """G1: within the gap, every label the likeliest; two tokens may be too few for A1."""
    gap = 10.0**exponent
    if len({x for tokens, label in rows for x in [*tokens, label]}) < 2:
        return
    model = compiled(rows, gap=gap, seed=seed)
    verified = proved(model)
    assert verified.fit.accuracy == 1 and model.claim.gap == gap
    for tokens, label in rows:
        assert model.recall(tokens) == label
    counted(model)


@settings(max_examples=10, deadline=None)
@given(rows=distributions_drawn(), tight=st.booleans())
def test_distributions_are_kept(rows, tight):
    """G1, judged by counting the rows; the default dimension is lossless."""
    try:
        model = compiled(rows, tight=tight)
    except AssumptionError as error:
        assert tight and "A5 fails" in str(error)  # few last tokens, or few distributions
        return
    proved(model)
    counted(model)
    for tokens in {tuple(t) for t, _ in rows}:
        labels = [label for t, label in rows if tuple(t) == tokens]
        shares = {x: labels.count(x) / len(labels) for x in labels}
        said = spoken(model, tokens)
        divergence = sum(p * math.log(p / said[x]) for x, p in shares.items())
        assert divergence <= model.claim.gap + 1e-9


@pytest.mark.parametrize(
    ("count", "dimension", "size", "heads"), [(40, 4, 4, 9), (30, 8, 2, 11), (62, 10, 4, 13)]
)
def test_tight_reaches_the_theorem(count, dimension, size, heads):
    """T_0 = H d_h + d exactly, and one context more is refused."""
    assert theorem_1(heads, size, dimension) == count
    options = {"dimension": dimension, "head_dimension": size, "tight": True, "heads": heads}
    model = compiled(pairs(count), **options)
    assert proved(model).fit.accuracy == 1
    assert model.network.shape.heads == heads
    counted(model)
    with pytest.raises(AssumptionError, match=f"A3 fails: {heads} heads .* needs {heads + 1}"):
        compiled(pairs(count + 1), **options)


def test_tight_in_two_dimensions():
    """Corollary 1: 2 H + 2 associations on the circle."""
    model = compiled(pairs(42), dimension=2, tight=True)
    assert model.network.shape.heads == 20 == heads_needed(42, 2, 2)
    assert "circle" in model.record.notes[0] and proved(model).fit.accuracy == 1


def test_the_fewest_heads_without_folding():
    model = compiled(pairs(41), dimension=8)
    assert model.network.shape.heads == 6  # 6 * 8 >= 41
    assert compiled(pairs(41), dimension=8, heads=9).network.shape.heads == 9
    with pytest.raises(AssumptionError, match="A3 fails: 5 heads .* needs 6 .*approximate.*argmax"):
        compiled(pairs(41), dimension=8, heads=5)


def test_the_seed_decides():
    def built(seed, **options):
        return compiled(pairs(20), seed=seed, **options).network

    for options in ({}, {"tight": True}, {"dimension": 2}):
        assert built(3, **options) == built(3, **options)
        assert built(3, **options) != built(4, **options)


def test_a_harmed_weight_is_noticed():
    rows = pairs(30)
    model = compiled(rows)
    out = model.network["attention.out"].copy()
    place = np.unravel_index(abs(out).argmax(), out.shape)
    out[place] *= 1.5
    harmed = Decoder(model.network.shape, {**model.network.tensors, "attention.out.weight": out})
    changed = Model(harmed, model.words, model.claim)
    assert verify(model, from_rows(rows)).evidence == "proved"
    assert verify(changed, from_rows(rows)).evidence == "refuted"


def test_float32_is_observed():
    said = compiled(pairs(60)).record.notes[-1]
    assert said.startswith("observed in float32: divergence mean") and "all labels right" in said
    assert "labels" not in compiled(FEW).record.notes[-1]


# --- data


def test_different_lengths_are_padded_at_the_front():
    rows = [(["a"], "x"), (["a", "a"], "y"), (["a", "a", "a"], "x"), (["b", "a"], "y")]
    model = compiled(rows)
    assert model.tokens[-1] == "<pad>"
    assert model.network.shape.padding == len(model.tokens) - 1
    assert model.numbers(["b", "a"]) == [len(model.tokens) - 1, 1, 0]
    assert [model.recall(tokens) for tokens, _ in rows] == ["x", "y", "x", "y"]
    assert all(spoken(model, tokens)["<pad>"] < 1e-9 for tokens, _ in rows)
    proved(model)
    counted(model)


def test_contexts_of_one_token_are_padded():
    """Lemma 2 is false at S = 1; a reserved token in front makes attention choose."""
    rows = [([f"w{i}"], f"w{i * i % 7}") for i in range(12)]
    model = compiled(rows)
    assert model.length == 2 and model.network.shape.padding == 12
    assert proved(model).fit.accuracy == 1


def test_the_reserved_word_may_be_taken():
    rows = [(["<pad>"], "x"), (["<pad>", "<pad>"], "y"), (["x", "<pad>"], "<pad>")]
    model = compiled(rows)
    assert model.tokens[-1] == "<pad-1>"
    assert [model.recall(tokens) for tokens, _ in rows] == ["x", "y", "<pad>"]
    assert reserved(("<pad>", "<pad-1>")) == "<pad-2>"


def test_integers_and_labels_that_are_no_tokens():
    data = [([1, 2], 7), ([1, 2], 7), ([1, 2], 1), ([3], 2), ([2**40], 3)]
    model = compiled(data)
    assert model.tokens == (1, 2, 3, 2**40, 7, "<pad>")
    assert spoken(model, [1, 2]) == near({1: 1 / 3, 2: 0, 3: 0, 2**40: 0, 7: 2 / 3, "<pad>": 0})
    mixed = compiled([([1, 1], "1"), ([2, 1], "x")])
    assert mixed.tokens == (1, 2, "1", "x") and mixed.recall([1, 1]) == "1"


def noisy(count=20, vocabulary=6):
    """Pairs of tokens with two or three labels each."""
    random = np.random.default_rng(1)
    rows = []
    for tokens, _ in pairs(count, vocabulary, seed=1):
        rows += [(tokens, f"w{y}") for y in random.integers(0, vocabulary, 3)]
    return rows


def test_several_labels_need_as_many_dimensions():
    """Proposition 2: d = N - 1 keeps the gap; a smaller d claims what it reaches, or refuses."""
    model = compiled(noisy(), dimension=5, gap=1e-8)
    assert proved(model).fit.max <= 1e-8 and "encoder exact" in model.record.notes[0]
    less = compiled(noisy(), dimension=2)
    verified = proved(less)
    assert 1e-3 < verified.fit.max <= less.claim.gap < 1.02 * verified.fit.max
    assert less.claim.gap == float(f"{less.claim.gap:.3g}")
    assert "upper bound" in less.record.notes[0] and "rounded up" in less.record.notes[0]
    with pytest.raises(AssumptionError, match="A4 fails: the largest divergence reached is"):
        compiled(noisy(), dimension=2, gap=1e-3)


@pytest.mark.parametrize("encoder", ["look-up", "optimal"])
def test_encoders_that_are_named(encoder):
    model = compiled(noisy(), dimension=4, encoder=encoder)
    assert f"encoder {encoder}" in model.record.notes[0]
    proved(model)
    certain = compiled(pairs(20, 6, 6), dimension=4, encoder=encoder)
    assert proved(certain).fit.accuracy == 1


def test_more_dimensions_than_tokens():
    """d > N + S - 2: heads have fewer dimensions, or there are more heads."""
    rows = [([a, b, c], a + 2 * b + 4 * c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    model = compiled(rows, dimension=8)
    assert model.network.shape.value_dimension == 3  # N + S - 1 - c
    proved(model)
    wide = compiled(rows, dimension=8, head_dimension=8)
    assert wide.network.shape.heads == 3 and proved(wide).fit.accuracy == 1
    with pytest.raises(AssumptionError, match="A3 fails: 1 heads"):  # 8 features, of rank 4
        compiled(rows, dimension=8, head_dimension=8, heads=1)


# --- what it refuses


def test_one_token_is_refused():
    with pytest.raises(AssumptionError, match="A1 fails: attention-only needs two"):
        compiled([(["a", "a"], "a")])


def test_heads_wider_than_the_dimension_are_refused():
    with pytest.raises(AssumptionError, match="A2 fails: heads of dimension 5 .* head_dimension=4"):
        compiled(pairs(10), dimension=4, head_dimension=5)


def test_tight_wants_last_tokens():
    """D3: two contexts with the same last token, and no head that tells them apart."""
    rows = [([f"w{i}", "z"], f"w{i % 3}") for i in range(9)]
    with pytest.raises(AssumptionError, match="A5 fails: .* 1 different last tokens"):
        compiled(rows, tight=True)
    assert proved(compiled(rows)).fit.accuracy == 1


def test_tight_wants_embeddings_of_full_rank():
    """Two distributions span two dimensions."""
    rows = [([f"w{i}", f"w{j}"], y) for i in range(4) for j in range(4) for y in ("x", "y")]
    rows += [(["w0", "w0"], "x")]
    with pytest.raises(AssumptionError, match="A5 fails: the sequence embeddings .* rank 2"):
        compiled(rows, tight=True, dimension=3)
    proved(compiled(rows, tight=True, dimension=2))


def test_conditioning_is_measured():
    """A6: in one dimension heads are all but dependent."""
    with pytest.raises(AssumptionError, match="A6 fails: .* in 4 draws; use a larger dimension="):
        compiled([(t, y) for (t, _), y in zip(pairs(60), "ab" * 30, strict=True)], dimension=1,
                 encoder="optimal", heads=60)  # fmt: skip


def test_more_heads_where_conditioning_asks_for_them(monkeypatch):
    """G2: draws with the fewest heads come first; a number that is named is kept, or refused."""
    from byheart.constructions import attention_only

    assert compiled(pairs(64), dimension=8).network.shape.heads == 8
    monkeypatch.setattr(attention_only, "LARGEST_CONDITION", 1e3)
    model = compiled(pairs(64), dimension=8)
    assert model.network.shape.heads in (10, 16) and model.record.search.tries in (3, 4)
    with pytest.raises(AssumptionError, match="A6 fails: the condition number is about"):
        compiled(pairs(64), dimension=8, heads=8)


def test_one_context():
    model = compiled([(["a", "b"], "c")])
    assert model.recall(["a", "b"]) == "c" and proved(model).fit.accuracy == 1


def test_memory_is_checked_first(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 10_000)
    with pytest.raises(ByheartError, match="bytes of memory"):
        compiled(pairs(30))


# --- its parts


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 999), rows=st.integers(1, 12), more=st.integers(0, 5))
def test_solutions(seed, rows, more):
    """Of least norm: the pseudo-inverse."""
    random = np.random.default_rng(seed)
    found, wanted = random.standard_normal((rows, rows + more)), random.standard_normal((rows, 2))
    solution = solve(found, wanted)
    expected = np.linalg.pinv(found) @ wanted
    scale = max(1.0, solution.condition)
    np.testing.assert_allclose(solution.matrix, expected, atol=1e-13 * scale * scale)
    assert solution.condition >= 1 or rows == 1


@pytest.mark.parametrize("small", [1.0, 1e-3, 1e-6])
def test_folding_amplifies_no_rounding(small):
    """D2: whatever the condition number of M is; solved directly, errors would grow with it."""
    random = np.random.default_rng(0)
    shape = Shape(10, 2, 4, ATTENTION, 9, 4, 4, True, 0, "none", None)
    tokens = np.array(np.unravel_index(random.permutation(100)[:40], (10, 10))).T
    turn = np.linalg.qr(random.standard_normal((4, 4)))[0]
    wanted = random.standard_normal((40, 4)) * [1, 1, 1, small] @ turn
    unembedding = random.standard_normal((10, 4))
    heads = draw(shape, random, (8.0, 16.0))
    network, _, folding = tight(shape, heads, tokens, wanted, unembedding)
    said = logits(network, tokens.ravel(), np.arange(41) * 2)
    assert folding > 0.1 / small
    np.testing.assert_allclose(said, wanted @ unembedding.T, atol=1e-9)


def test_a_singular_matrix_has_no_condition():
    assert solve(np.ones((3, 3)), np.ones((3, 1))).condition > 1e15
    assert solve(np.ones((3, 5)), np.ones((3, 1))).condition > 1e15


@settings(max_examples=30, deadline=None)
@given(value=st.floats(1e-12, 1e3))
def test_rounding_up(value):
    found = rounded_up(value)
    assert value <= found <= value * 1.0101 and found == float(f"{found:.3g}")


def test_margins_and_stretches():
    """Three tokens in the plane; the margin of the second context is 1 - 0.5."""
    dataset = from_rows([(["a", "b"], "a"), (["b", "b"], "b")])
    found = targets(dataset, contexts(dataset, positions=True))
    unembedding = np.array([[1.0, 0.0], [0.0, 1.0]])
    embeddings = np.array([[2.0, -1.0], [0.5, 1.0]])
    assert margins(unembedding, embeddings, found).tolist() == [3.0, 0.5]
    moved = shaken(unembedding, embeddings, found, 0)
    assert (margins(unembedding, moved, found) >= [1.5, 0.25]).all()
    factor = stretch(0.5, 10, 1e-6)
    assert 9 * math.exp(-0.5 * factor / 2) == pytest.approx(1e-6, rel=1e-5)
