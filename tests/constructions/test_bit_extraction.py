"""The paper's own constructions: cases by hand, A1, A2, G1, G2, G3, and the paper's slips."""

import itertools
import json
import math
import random
import subprocess
import sys
import time
from dataclasses import astuple, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.constructions.base import input_of
from byheart.constructions.bit_extraction import BitExtraction, short
from byheart.constructions.bit_extraction.known import closest, known_columns, known_multisets
from byheart.constructions.bit_extraction.transformer import LABEL, LANES, PHI, SUM, X
from byheart.constructions.deep_sets import FaithfulDeepSet
from byheart.constructions.embedding import FaithfulEmbedding
from byheart.constructions.limited_bits import FaithfulLimitedBits
from byheart.constructions.seq2seq import FaithfulSeq2Seq
from byheart.data.contexts import Contexts, contexts
from byheart.data.load import from_rows
from byheart.errors import AssumptionError, ByheartError
from byheart.exact import reference as exact
from byheart.exact.batch import Batch
from byheart.exact.network import (
    Embedding,
    FeedForward,
    Network,
    Sum,
    UniformAttention,
    divided,
    dyadic,
    matrix,
)
from byheart.gadgets.multisets import distinct, marked
from byheart.machine.watch import SILENT
from byheart.theory.kajitsuka2025.sizes import (
    bit_extraction_size,
    deep_sets_size,
    embedding_size,
    limited_bits_size,
)

CHECKER = Path(__file__).parents[2] / "checker" / "check.py"
POSITIONS = BitExtraction(positions=True)
fraction = cache(lambda value: value.fraction)


# an evaluator of its own: one column at a time, in fractions


def affine(weight, bias, column):
    assert weight.columns == len(column) and bias.rows == weight.rows
    result = [Fraction(0)] * weight.rows
    for row, source, value in weight.entries:
        result[row] += fraction(value) * column[source]
    for row, _, value in bias.entries:
        result[row] += fraction(value)
    return result


def token_wise(layer, column):
    if isinstance(layer, Embedding):
        return [layer.weight[row, int(column[0])] for row in range(layer.weight.rows)]
    if not isinstance(layer, FeedForward):
        return affine(layer.weight, layer.bias, column)
    units = [max(Fraction(0), x) for x in affine(layer.W1, layer.b1, column)]
    added = affine(layer.W2, layer.b2, units)
    return [x + y for x, y in zip(column, added, strict=True)]


def mixed(layer, columns, width):
    total = [sum((c[i] for c in columns), Fraction(0)) for i in range(width)]
    if isinstance(layer, Sum):
        return [total]
    mean = [x / len(columns) for x in total]
    value = affine(layer.W_V, matrix(1, 1, {}), mean)
    added = affine(layer.W_O, matrix(width, 1, {}), value)
    return [[x + y for x, y in zip(column, added, strict=True)] for column in columns]


def columns_of(network, sequence):
    """The input columns, and how many of them are padding."""
    spec = network.input
    columns = [[Fraction(x) for x in vector] for vector in sequence]
    fill = 0 if spec.padding is None else spec.length - len(columns)
    if fill:
        columns = [[fraction(x) for x in spec.padding]] * fill + columns
    if spec.positions:
        columns = [[*column, Fraction(i)] for i, column in enumerate(columns)]
    return columns, fill


def run(network, sequences):
    """The outputs of every sequence's columns (padding left out); the last is the answer."""
    mixing = next(i for i, x in enumerate(network.layers) if isinstance(x, UniformAttention | Sum))
    before = network.layers[:mixing]

    @cache
    def first(column):
        for layer in before:
            column = token_wise(layer, column)
        return column

    @cache
    def second(column):
        for layer in network.layers[mixing + 1 :]:
            column = token_wise(layer, column)
        return column[0]

    answers = []
    for sequence in sequences:
        columns, fill = columns_of(network, sequence)
        stream = [first(tuple(column)) for column in columns]
        stream = mixed(network.layers[mixing], stream, network.width)
        answers.append([second(tuple(column)) for column in stream[fill:]])
    return answers


def vectors(dataset):
    starts = dataset.starts
    return [
        dataset.vectors[dataset.ids[starts[i] : starts[i + 1]]].tolist()
        for i in range(len(dataset))
    ]


def wanted(dataset):
    labels = dataset.labels.tolist()
    if not dataset.every:
        return [[label] for label in labels]
    return [labels[a:b] for a, b in itertools.pairwise(dataset.starts.tolist())]


def build(construction, dataset):
    grouped = contexts(dataset, bool(construction.positions), construction.last)
    return construction.build(dataset, grouped, SILENT).network


def check(construction, dataset):
    """G1, by the evaluator above."""
    network = build(construction, dataset)
    found = run(network, vectors(dataset))
    if not dataset.every:
        found = [answer[-1:] for answer in found]
    assert found == wanted(dataset)
    return network


def exactly(construction, dataset):
    """G1 by the reference evaluator, which is faster."""
    network = build(construction, dataset)
    found = exact.evaluate(network, Batch(dataset.vectors, dataset.ids, dataset.starts))
    assert [int(x) for x in found] == dataset.labels.tolist()
    return network


def sizes(network):
    ends = (network.layers[0], network.layers[-1])
    dense = network.counts()[0]["dense"]
    dense -= sum(t.rows * t.columns for x in ends for t in x.tensors.values())
    return network.counts()[0]["counted"], dense, network.depth, network.width


def labelled(rows, classes=3, seed=0, own=True):
    """Rows with random labels, one a context."""
    chosen, table = random.Random(seed), {}
    result = []
    for row in rows:
        bag = tuple(sorted(map(repr, row)))
        key = (bag, repr(row[-1])) if own else bag
        result.append((list(row), table.setdefault(key, chosen.randrange(classes))))
    return from_rows(result)


def every_labelled(rows, classes=3, seed=0, positions=False):
    """Rows with a random label for every token, one a context."""
    chosen, table = random.Random(seed), {}
    result = []
    for row in rows:
        bag = tuple(row) if positions else tuple(sorted(row))
        keys = [(bag, i if positions else x) for i, x in enumerate(row)]
        labels = [table.setdefault(key, chosen.randrange(classes)) for key in keys]
        result.append((list(row), labels))
    return from_rows(result)


def rows(values, least=1, most=4, count=8):
    row = st.lists(values, min_size=least, max_size=most)
    return st.lists(row, min_size=1, max_size=count)


words = rows(st.sampled_from("abc"))
numbers = rows(st.floats(-100, 100, width=16).map(lambda x: x + 0.0))  # no -0.0
points = rows(st.tuples(st.integers(-4, 4), st.sampled_from([-0.5, 0.25, 3.0])).map(list))
classes = st.integers(1, 4)
slow = settings(deadline=None, max_examples=15)


# Theorem B.1


@slow
@given(st.one_of(words, points), classes, st.integers(0, 3))
def test_labels(data, labels, seed):
    check(BitExtraction(seed=seed), labelled(data, labels, seed))


@slow
@given(words, classes)
def test_labels_with_positions(data, labels):
    dataset = from_rows([(row, sum(map(ord, row[::2])) % labels) for row in data])
    check(POSITIONS, dataset)


@slow
@given(numbers)
def test_real_numbers(data):
    exactly(BitExtraction(), labelled(data))


@settings(deadline=None, max_examples=40)
@given(st.one_of(words, points), classes, st.booleans())
def test_sizes_are_the_closed_form(data, labels, positions):
    """G2, to the digit."""
    dataset = labelled(data, labels)
    construction = BitExtraction(positions=positions)
    network = build(construction, dataset)
    assert sizes(network) == expected_size(dataset, positions)


def expected_size(dataset, positions):
    """bit_extraction_size, with radius and separation measured anew."""
    n, grouped = dataset.length, contexts(dataset, positions)
    spec = input_of(dataset, positions)
    tokens = [tuple(x) for x in dataset.vectors.tolist()]
    if dataset.lengths.min() < n:
        tokens.append(tuple(float(fraction(x)) for x in spec.padding))
    delta = min((math.dist(a, b) for a, b in itertools.combinations(tokens, 2)), default=1)
    padded = [columns_of(Network(spec, ()), row)[0] for row in vectors(dataset)]
    r = max(math.hypot(*map(float, x)) for row in padded for x in row)
    known = known_columns(dataset, grouped, spec, None)
    return astuple(
        bit_extraction_size(
            len(grouped),
            n,
            spec.coordinates,
            len(dataset.label_names),
            max(1, r),
            min(1, delta),
            len(marked(distinct(known.rows)[0])),
        )
    )


def test_by_hand():
    """{a, b} with a last, with b last, and {a, a}; one label is two sequences'."""
    dataset = from_rows([(list(word[:2]), word[2]) for word in ("abx", "bay", "aax")])
    network = check(BitExtraction(), dataset)
    assert network.input.length == 2 and network.attentions == (
        network.layers.index(next(x for x in network.layers if isinstance(x, UniformAttention))),
    )
    assert set(network.layers[0].weight.by_row) == {X}  # E_in is the projection
    assert (network.layers[-1].weight[0, LABEL], network.layers[-1].bias[0, 0]) == (1, -1)
    inside = [x for x in network.layers[1:-1] if not isinstance(x, UniformAttention)]
    assert all(isinstance(layer, FeedForward) for layer in inside)  # eq. (3), D13
    assert network.width == len(LANES) and max(layer.W1.rows for layer in inside) == 8


@pytest.mark.parametrize(
    "data",
    [
        [[3]],  # N = 1
        [[1, 4], [2, 3], [5, 0], [4, 1]],  # equal sums
        [list(word) for word in itertools.product((1, 2, 3), repeat=3)],  # all words
        [[1] * i + [2] + [1] * (7 - i) for i in range(8)] + [[1] * 8],  # one substitution
        [[-7], [0], [7], [0.125]],  # length 1, negative, fractional
        [[2**62 - 1, 2**62], [2**62 - 2, 1], [-(2**62), 1]],  # beyond the floats
        [[1, 1, 2], [1, 2, 2], [2, 1, 1], [2, 2, 1]],  # equal supports (D10)
        [[5, 5, 5], [5, 5], [5]],  # only lengths differ
    ],
    ids=str,
)
@pytest.mark.parametrize("labels", [1, 2, 9])
def test_nasty(data, labels):
    check(BitExtraction(), labelled(data, labels))


def test_long_sequences_over_four_tokens():
    chosen = random.Random(0)
    data = [[chosen.choice("abcd") for _ in range(64)] for _ in range(40)]
    network = exactly(BitExtraction(), labelled(data, 5))
    assert network.width == 12


def test_huge_and_tiny_coordinates():
    data = [[1e300, 1e-300], [1e-300, 2.0], [2.0, -1e300]]
    network = exactly(BitExtraction(), labelled(data))
    assert network.counts()[1]["largest"] > 2000  # log2(r / delta) bits a key


def test_large_integers_that_floats_merge():
    data = [[[2**53, 5], [2**53 + 1, 5]], [[2**53 + 1, 5], [2**53 + 1, 5]], [[2**53 + 2, 1]] * 2]
    check(BitExtraction(), labelled(data))


@pytest.mark.parametrize("length", [3, 5, 6, 7, 8])
def test_every_length(length):
    """D9: 1/n is dyadic for n = 2^a only, so W_O is n."""
    chosen = random.Random(length)
    data = [[chosen.randrange(4) for _ in range(length)] for _ in range(6)]
    network = check(BitExtraction(), labelled(data))
    attention = network.layers[network.attentions[0]]
    assert attention.W_O[SUM, 0] == length and attention.W_V[0, PHI] == 1
    if length & (length - 1):
        with pytest.raises(AssertionError, match="not dyadic"):
            divided(matrix(3, 1, {(2, 0): 1}), length)  # eq. (52)


def test_tokens_outside_a_give_0():
    """G3, eq. (37)."""
    dataset = labelled([["a", "b", "c"], ["a", "b", "d"], ["a", "c", "e"]])
    network = build(BitExtraction(), dataset)
    mixing = network.attentions[0]
    values = []
    for vector in dataset.vectors.tolist():
        column = [Fraction(x) for x in vector]
        for layer in network.layers[:mixing]:
            column = token_wise(layer, column)
        values.append(column[PHI])
        others = [x for i, x in enumerate(column) if i not in (PHI, X)]
        assert column[X] >= 2 and not any(others)  # eq. (50): phi, F, and 0 for the sum
    known = known_columns(dataset, contexts(dataset, False), network.input, None)
    chosen = marked(distinct(known.rows)[0])
    assert [i for i, value in enumerate(values) if value] == chosen
    assert len(chosen) < len(values)


def test_hard_attention_with_scores_0_is_the_same():
    dataset = labelled([[1, 2, 3], [1, 1, 3], [2, 2, 3]])
    hard = build(BitExtraction(attention="hard"), dataset)
    soft = build(BitExtraction(), dataset)
    assert hard.counts()[0]["counted"] == soft.counts()[0]["counted"]
    assert hard.layers[hard.attentions[0]].uniform == soft.layers[soft.attentions[0]]


def test_a_separation_can_be_asked_for():
    """A2."""
    dataset = labelled([[[0.5, 1], [3, 1]], [[0.5, 1.25], [3, 1]]])
    check(BitExtraction(separation=0.25), dataset)
    with pytest.raises(AssumptionError, match=r"A2.*\[0.5, 1.0\] and \[0.5, 1.25\] are 0.25 apart"):
        build(BitExtraction(separation=0.26), dataset)
    coarse = build(BitExtraction(separation=8.0), labelled([[1, 9], [9, 9]]))
    assert coarse.counts() == build(BitExtraction(), labelled([[1, 9], [9, 9]])).counts()


@settings(deadline=None)
@given(st.integers(1, 3), st.data())
def test_closest(dimension, data):
    coordinate = st.one_of(st.integers(-9, 9), st.integers(-(1 << 70), 1 << 70))
    point = st.tuples(*[coordinate] * dimension)
    points = data.draw(st.lists(point, min_size=2, max_size=12, unique=True))
    one, other, square = closest(np.array(points, dtype=object))
    squares = [
        sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
        for a, b in itertools.combinations(points, 2)
    ]
    assert one != other and square == min(squares)


def test_seeds_change_weights_but_not_sizes():
    dataset = labelled([[1, 2], [2, 3], [3, 1], [2, 2]])
    networks = [check(BitExtraction(seed=i), dataset) for i in range(4)]
    assert len({sizes(x) for x in networks}) == 1
    assert len({x.layers for x in networks}) == 4
    again = build(BitExtraction(seed=3), dataset)
    assert again.layers == networks[3].layers


def test_a_changed_weight_is_noticed():
    dataset = labelled([[1, 2], [2, 3], [3, 1], [2, 2]], 4)
    network = build(BitExtraction(), dataset)
    batch = Batch(dataset.vectors, dataset.ids, dataset.starts)
    answers, noticed = exact.evaluate(network, batch), 0
    for index in range(0, len(network.layers), 7):
        layer = network.layers[index]
        if not isinstance(layer, FeedForward):
            continue
        entry = layer.W1.entries[-1]
        value = dyadic(entry.value.fraction * 9 / 8)
        entries = (*layer.W1.entries[:-1], entry._replace(value=value))
        changed = replace(layer, W1=replace(layer.W1, entries=entries))
        layers = (*network.layers[:index], changed, *network.layers[index + 1 :])
        noticed += exact.evaluate(replace(network, layers=layers), batch) != answers
    assert noticed > len(network.layers) // 7 // 3


@pytest.mark.parametrize(
    "count, depth, nonzero, dense, largest",
    [
        (16, 280, 2_632, 29_021, 82),
        (100, 689, 6_481, 71_279, 222),
        (1_000, 2_196, 20_378, 223_313, 732),
        (10_000, 7_155, 66_578, 725_971, 2_368),
    ],
)
def test_no_larger_than_measured_before(count, depth, nonzero, dense, largest):
    """Permuted copies, other last tokens, repeated tokens and duplicates: as in the measurement."""
    dataset = mixture(count)
    started = time.process_time()
    network = build(BitExtraction(), dataset)
    assert time.process_time() - started < 60
    parameters, bits = network.counts()
    assert network.depth <= depth and network.width == 12
    assert parameters["nonzero"] <= nonzero and parameters["dense"] <= dense
    assert bits["largest"] <= largest
    if count <= 100:
        found = exact.evaluate(network, Batch(dataset.vectors, dataset.ids, dataset.starts))
        assert [int(x) for x in found] == dataset.labels.tolist()


@pytest.mark.slow
def test_a_thousand_sequences_exactly():
    exactly(BitExtraction(), mixture(1_000))


@pytest.mark.slow
def test_a_hundred_thousand_sequences():
    """Built in seconds; a few sequences are checked, as one takes a second."""
    dataset = mixture(100_000)
    started = time.process_time()
    network = build(BitExtraction(), dataset)
    assert time.process_time() - started < 120
    assert network.counts()[0]["counted"] < 300_000
    some = slice(0, 5)
    ids = dataset.ids[: dataset.starts[some.stop]]
    used, places = np.unique(ids, return_inverse=True)
    batch = Batch(dataset.vectors[used], places, dataset.starts[: some.stop + 1])
    found = exact.evaluate(network, batch)
    assert [int(x) for x in found] == dataset.labels[some].tolist()


def mixture(count, length=4):
    chosen = np.random.default_rng(0)
    vocabulary = max(8, count // 2)
    side = max(2, int(vocabulary**0.5) + 1) * 2
    tokens = chosen.integers(0, side + 1, (vocabulary, 2))
    rows = tokens[chosen.integers(0, vocabulary, (count, length))]
    kind = chosen.random(count)
    for i in range(1, count):
        other = rows[chosen.integers(0, i)].copy()
        if kind[i] < 0.1:
            rows[i] = chosen.permutation(other)
        elif kind[i] < 0.2:
            rows[i] = other[[3, 1, 2, 0]]
        elif kind[i] < 0.3:
            rows[i] = tokens[chosen.integers(0, vocabulary)]
        elif kind[i] < 0.35:
            rows[i] = other
        elif kind[i] < 0.45:
            other[0] = tokens[chosen.integers(0, vocabulary)]
            rows[i] = other
    return labelled(rows.tolist(), 2)


def test_the_checker_agrees(tmp_path):
    """G1 by checker/check.py, on a folder; and not with another label."""
    data = [([1, 2], "x"), ([2, 1], "y"), ([1, 2, 2], "z"), ([-0.5], "x")]
    compile(from_rows(data), method="bit-extraction").save(tmp_path / "model")
    assert judged(tmp_path, data).returncode == 0
    assert judged(tmp_path, [([1, 2], "y"), *data[1:]]).returncode == 1


def judged(folder, data):
    lines = [json.dumps({"input": row, "label": label}) + "\n" for row, label in data]
    (folder / "data.jsonl").write_text("".join(lines))
    command = [sys.executable, CHECKER, folder / "model", folder / "data.jsonl"]
    return subprocess.run(command, capture_output=True, check=False)


# Corollary 4.1


@slow
@given(words, classes, st.booleans())
def test_seq2seq(data, labels, positions):
    dataset = every_labelled(data, labels, positions=positions)
    network = check(FaithfulSeq2Seq(positions=positions), dataset)
    assert network.every and sizes(network) == expected_size(dataset, positions)


def test_seq2seq_by_hand():
    """A token's label depends on its multiset, not on its place."""
    dataset = from_rows([(list("ab"), [1, 2]), (list("ba"), [2, 1]), (list("aab"), [3, 3, 1])])
    check(FaithfulSeq2Seq(), dataset)


# Theorem D.1


@slow
@given(rows(st.integers(-3, 3), least=0, most=7), classes)
@example([[0, 1, -2, 1, 1, 2, 0], [1, 1, 2, 0, 0, 1, -2]], 1)  # one multiset, two last tokens
def test_deep_sets(data, labels):
    data = [*data, [1]]
    dataset = labelled(data, labels, own=False)
    network = check(FaithfulDeepSet(), dataset)
    grouped = contexts(dataset, False, last=False)
    assert network.input.padding is None and network.width == 12
    known = known_multisets(dataset, grouped, None)
    size = deep_sets_size(
        len(grouped),
        max(1, dataset.length),
        1,
        len(dataset.label_names),
        max(1, abs(dataset.vectors).max()),
        1,
        len(marked(distinct(known.rows)[0])),
    )
    assert sizes(network) == astuple(size)


def test_cardinalities_0_1_and_7():
    data = [[], [2.5], [2.5] * 7, [-1.0] * 7, [-1.0], [2.5, 2.5, 2.5, -1.0, -1.0, 0.0, 0.0]]
    network = check(FaithfulDeepSet(), labelled(data, 6, own=False))
    assert network.input.length == 7
    sums = next(i for i, x in enumerate(network.layers) if isinstance(x, Sum))
    assert network.layers[sums + 1].b1[0, 0] >= 2  # the empty multiset's key (deep_sets, D2)


def test_the_empty_multiset_alone():
    one = from_rows([([1], 0)])
    none = replace(
        one,
        tokens=np.zeros((0, 1), np.int64),
        ids=np.zeros(0, np.int32),
        starts=np.zeros(2, np.int64),
    )
    grouped = Contexts(np.zeros(1, np.int64), np.zeros(1, np.int64), False, False)
    network = FaithfulDeepSet().build(none, grouped, SILENT).network
    assert run(network, [[]]) == [[0]]


# Theorem E.1


@slow
@given(st.one_of(words, rows(st.integers(0, 9))), classes)
def test_embedding(data, labels):
    dataset = labelled(data, labels)
    network = check(FaithfulEmbedding(), dataset)
    columns = network.layers[0].weight.columns
    size = embedding_size(
        len(contexts(dataset, False)), dataset.length, columns, len(dataset.label_names)
    )
    assert sizes(network) == astuple(size)
    weight = network.layers[0].weight
    assert all(weight[X, int(x)] == x for x in dataset.vectors[:, 0])
    assert set(weight.by_row) <= {PHI, X}


@pytest.mark.parametrize("token", [-1, 0.5, 1 << 20, [1, 2]])
def test_an_embedding_reads_ids(token):
    with pytest.raises(AssumptionError, match="A2"):
        build(FaithfulEmbedding(), from_rows([([token], 0)]))


def test_an_embedding_sees_no_positions():
    with pytest.raises(ByheartError, match="does not take positions=..."):
        compile(from_rows([(["a"], 0)]), method="embedding", form="faithful", positions=True)


# Theorem F.1


def smallest(dataset, bits=1, **options):
    with pytest.raises(AssumptionError, match=r"A3.*the smallest is bits=\d+") as refusal:
        build(FaithfulLimitedBits(bits=bits, **options), dataset)
    return int(str(refusal.value).split("=")[-1].rstrip("."))


@slow
@given(st.one_of(words, points), classes, st.booleans(), st.integers(1, 40))
def test_limited_bits(data, labels, positions, more):
    """No parameter is longer than asked for; one bit below the smallest is refused."""
    dataset = labelled(data, labels)
    least = smallest(dataset, positions=positions)
    for bits in (least, least + more):
        network = check(FaithfulLimitedBits(bits=bits, positions=positions), dataset)
        assert network.counts()[1]["largest"] <= bits
        assert network.width == 12
    assert smallest(dataset, bits=least - 1, positions=positions) == least


def test_the_smallest_number_of_bits_is_used():
    dataset = mixture(60)
    least = smallest(dataset)
    network = build(FaithfulLimitedBits(bits=least), dataset)
    assert network.counts()[1]["largest"] == least


def test_more_bits_make_fewer_parameters():
    dataset = mixture(300)
    least = smallest(dataset)
    networks = [exactly(FaithfulLimitedBits(bits=b), dataset) for b in (least, 60, 200)]
    counted = [x.counts()[0]["counted"] for x in networks]
    assert counted[0] > counted[1] > counted[2]
    paper = build(BitExtraction(), dataset)
    assert counted[2] < paper.counts()[0]["counted"]  # keys are no longer than needed (D2)


def test_limited_bits_of_every_token():
    data = [["a", "b", "a"], ["b", "b"], ["c", "a"]]
    check(FaithfulLimitedBits(bits=60), every_labelled(data, 4))


@settings(deadline=None, max_examples=30)
@given(st.one_of(words, points), classes, st.integers(0, 200))
def test_limited_bits_have_the_closed_form(data, labels, more):
    """The size of Theorem F.1 for the tables that were built, to the digit."""
    dataset = labelled(data, labels)
    least = smallest(dataset)
    tables = []

    def seen(lane, table, output, bits):
        tables.append((len(table), table.key_bits, table.label_bits))
        return split(lane, table, output, bits)

    with pytest.MonkeyPatch.context() as patch:
        split = short._split
        patch.setattr(short, "_split", seen)
        network = build(FaithfulLimitedBits(bits=least + more), dataset)
    project = next(layer for layer in network.layers if layer.stage == "project")
    nonzero = sum(len(tensor.entries) for tensor in project.tensors.values())
    size = limited_bits_size(least + more, *tables, projected=nonzero)
    assert sizes(network) == astuple(size)


def test_every_number_of_bits_from_the_smallest_to_64():
    dataset = mixture(25)
    least = smallest(dataset)
    counts = []
    for bits in range(least, 65):
        network = exactly(FaithfulLimitedBits(bits=bits), dataset)
        assert all(p.value.fixed_bits <= bits for p in network.parameters())
        counts.append(network.counts()[0]["nonzero"])
    assert counts[-1] < counts[0]
