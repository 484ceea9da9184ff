"""hash-fold-retrieve: cases by hand, A1, G1, G2, G3, and what a changed weight or label does."""

import math
import random
import signal
import tempfile
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from nasty import NASTY, SIZES, context, datasets, labelled

from byheart.api.compile import compile as unbounded
from byheart.constructions.retrieval import build as building
from byheart.constructions.retrieval import build as limits
from byheart.constructions.retrieval import search as searching
from byheart.constructions.retrieval.folds import FoldPlan, thresholds
from byheart.constructions.retrieval.gf2 import factored
from byheart.constructions.retrieval.plan import expected_load, loads
from byheart.constructions.retrieval.problem import Task, label_code
from byheart.constructions.retrieval.solve import System, solve
from byheart.data.load import from_rows
from byheart.errors import AssumptionError, ByheartError
from byheart.exact.answer import batch_of
from byheart.exact.evaluate import evaluate
from byheart.exact.network import Network, dyadic, matrix
from byheart.exact.prove import batch_of_data
from byheart.gadgets.blocks import digit_order
from byheart.gadgets.prefix_code import prefix_code
from byheart.models.verification import verify

OBJECTIVES = ("nonzero", "dense", "bits")
LIMIT = 120  # seconds for one small model: far more than it takes, a hang if not
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)  # a hang must not be shrunk


@contextmanager
def within(seconds):
    """A hang becomes a failure."""

    def stop(*_):
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def compile(dataset, **options):
    with within(LIMIT):
        return unbounded(dataset, **options)


@contextmanager
def tables_only():
    """The form with readers is tested in test_readers.py."""
    original = building.reading.search
    building.reading.search = lambda *_: None
    try:
        yield
    finally:
        building.reading.search = original


def outputs(model, dataset):
    return evaluate(model.network, batch_of_data(model, dataset)[0], "exact")


def right(model, rows):
    """Whether the reference evaluator gives every label; labels compared by name."""
    dataset = from_rows(rows)
    return all(
        y == int(y) and 0 <= y < len(model.labels) and model.labels[int(y)] == label
        for y, (_, label, *_) in zip(outputs(model, dataset), rows, strict=True)
    )


@pytest.fixture(scope="session")
def failures(checker):
    """A function: the independent checker's judgement of a saved model and its dataset."""

    def judged(model, dataset):
        with tempfile.TemporaryDirectory() as place:
            model.save(Path(place) / "model", data=dataset)
            return checker.failures(Path(place) / "model", Path(place) / "model" / "data.jsonl")

    return judged


# --- by hand


def packed(rows, unknowns):
    """Rows of bits as words of 64, the first unknown lowest."""
    words = (unknowns + 63) // 64
    numbers = [sum(bit << i for i, bit in enumerate(row)) for row in rows]
    return np.array(
        [[(x >> (64 * w)) & (2**64 - 1) for w in range(words)] for x in numbers], np.uint64
    ).reshape(len(rows), words)


def eliminated(rows, right, unknowns):
    factors = factored(packed(rows, unknowns), unknowns)
    reduced, solution = np.zeros((2, (unknowns + 63) // 64), np.uint64)
    unmet = factors.reduced(np.array(right, np.uint64), reduced)
    factors.solution(reduced, solution)
    bits = [int(solution[i >> 6] >> np.uint64(i & 63)) & 1 for i in range(unknowns)]
    return None if unmet else bits


def test_eliminate_by_hand():
    # a + b = 1, b + c = 1, c = 1: c = 1, b = 0, a = 1
    assert eliminated([[1, 1, 0], [0, 1, 1], [0, 0, 1]], [1, 1, 1], 3) == [1, 0, 1]
    # a + b = 1 alone: b is free and becomes 0
    assert eliminated([[1, 1]], [1], 2) == [1, 0]
    # a + b = 1, b + c = 1, a + c = 1: the left sides add up to 0, the right sides to 1
    assert eliminated([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 1, 1], 3) is None
    assert eliminated([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 1, 0], 3) == [0, 1, 0]


def test_fold_bits_by_hand():
    # Two folds, at 2 and at 1: 2 -> 1 -> 0, 3 -> 0, so the bits are the Gray code of H.
    plan = FoldPlan(2, top=1)
    assert thresholds(plan.folds) == ([2, 1], 4)
    assert plan.read(np.arange(4)).tolist() == [0b00, 0b01, 0b11, 0b10]
    # Three columns, folded at 2 and 1 of [0, 3): the column counts the folds that do not fire.
    plan = FoldPlan(3, low=1)
    layout = plan.layout(plan.parts[1])
    assert thresholds(layout.folds) == ([4, 2, 1], 6)
    bits = plan.read(np.arange(6))
    # 0: -, 1: last, 2 -> 1: second, last, 3 -> 0: second, 4 -> 3 -> 0: both, 5 -> 2 -> 1: all
    assert bits.tolist() == [0b000, 0b001, 0b011, 0b010, 0b110, 0b111]
    assert layout.column_of(bits).tolist() == [2, 2, 1, 1, 0, 0]


def solved(layout, hashes, words):
    """The numbers for words of one bit."""
    ones, terms = np.ones(len(words), np.int64), layout.terms(hashes)
    column = layout.column_of(hashes)
    system = System(layout.plan.columns, column, terms, np.array(words), ones, 1)
    return solve(system, layout.unknowns)


def test_solve_by_hand():
    # One number of one bit, read by everyone; the label is that bit.
    alone = FoldPlan(1).layout(())
    zeros = np.zeros(2, np.uint64)
    assert solved(alone, zeros[:1], [1]) == [1]
    assert solved(alone, zeros[:1], [0]) == [0]
    assert solved(alone, zeros, [0, 1]) is None
    # A fold that fires for the second context adds a number of its own.
    two = FoldPlan(1, top=1).layout(())
    fired = np.array([0, 1], np.uint64)
    assert solved(two, fired, [0, 1]) == [0, 1]
    assert solved(two, fired, [1, 0]) == [1, 1]


def test_terms_by_hand():
    # Two folds that store numbers 1 and 2 (from the last): the earlier one flips no sign of its
    # own, the later one fires before it is added up.
    plan = FoldPlan(1, top=2)
    terms = plan.layout(()).terms(np.array([0b00, 0b01, 0b10, 0b11], np.uint64))
    read = [terms.units[a:b].tolist() for a, b in pairwise(terms.starts.tolist())]
    assert read == [[0], [0, 1], [0, 2], [0, 1, ~2]]


def plain_solution(rows, right, unknowns):
    """Whether a system over GF(2) is solvable, by elimination on Python integers."""
    pivots = {}
    for row, bit in zip(rows, right, strict=True):
        value = sum(x << i for i, x in enumerate(row)) | bit << unknowns
        for place, pivot in sorted(pivots.items()):
            if value >> place & 1:
                value ^= pivot
        left = value & ((1 << unknowns) - 1)
        if left:
            pivots[(left & -left).bit_length() - 1] = value
        elif value:
            return False
    return True


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_eliminate_agrees_with_plain_elimination(data):
    unknowns = data.draw(st.sampled_from([1, 2, 5, 63, 64, 65, 130]))
    count = data.draw(st.integers(1, min(unknowns + 2, 40)))
    pick = random.Random(data.draw(st.integers(0, 1 << 30)))
    density = data.draw(st.sampled_from([0.05, 0.5]))
    rows = [[int(pick.random() < density) for _ in range(unknowns)] for _ in range(count)]
    if data.draw(st.booleans()):  # dependent rows
        rows[-1] = [a ^ b for a, b in zip(rows[0], rows[count // 2], strict=True)]
    right = [pick.randrange(2) for _ in rows]
    if data.draw(st.booleans()):  # solvable
        secret = [pick.randrange(2) for _ in range(unknowns)]
        right = [sum(a & b for a, b in zip(row, secret, strict=True)) % 2 for row in rows]
    found = eliminated(rows, right, unknowns)
    assert (found is not None) == plain_solution(rows, right, unknowns)
    if found is not None:
        assert right == [sum(a & b for a, b in zip(r, found, strict=True)) % 2 for r in rows]


# --- G1


MORE = (-(2**16), 10**5, 1.5)  # NASTY holds long ones: each takes seconds


@given(datasets(more=MORE, repeat=True), st.integers(0, 3))
@settings(max_examples=30, deadline=None, phases=QUICK)
def test_every_label_is_returned(case, seed):  # G1
    rows, positions = case
    model = compile(from_rows(rows), positions=positions, seed=seed)
    assert right(model, rows)
    if not positions:  # permutations that keep the last token are the same context
        pick = random.Random(seed)
        for tokens, label in rows[:5]:
            mixed = tokens[:-1]
            pick.shuffle(mixed)
            assert model.recall([*mixed, tokens[-1]]) == label


@given(
    datasets(size=8, more=MORE, repeat=True), st.sampled_from(OBJECTIVES), st.sampled_from([0, 3])
)
@settings(max_examples=15, deadline=None, phases=QUICK)
def test_the_checker_agrees(failures, case, minimise, reject):  # G1, judged by other code
    rows, positions = case
    dataset = from_rows(rows)
    model = compile(dataset, positions=positions, minimise=minimise, reject_unknown=reject)
    assert failures(model, dataset) == []


@pytest.mark.parametrize("reject", [0, 1, 12, 40])
@pytest.mark.parametrize("minimise", OBJECTIVES)
def test_few_sequences(minimise, reject):  # N from 1, C from 1 to N
    for size, labels in ((1, 1), (2, 1), (2, 2), (3, 2), (5, 5)):
        rows = [([i], i % labels) for i in range(size)]
        assert right(compile(from_rows(rows), minimise=minimise, reject_unknown=reject), rows)


@pytest.mark.parametrize("length", [3, 4, 20, 1000])
@pytest.mark.parametrize("minimise", OBJECTIVES)
def test_few_long_sequences(minimise, length):  # the hash must have room for 2 * length + 1 tokens
    for size in (2, 5, 20):
        rows = [([i] * length, i % 2) for i in range(size)]
        assert right(compile(from_rows(rows), minimise=minimise), rows)


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("name", NASTY)
def test_nasty_data(name, positions):  # G1
    rows = NASTY[name]
    model = compile(from_rows(rows), positions=positions)
    assert right(model, rows)
    tries = model.record.search.tries
    assert 1 <= tries <= 100_000 or (tries == 0 and len(model.labels) == 1)


@pytest.mark.parametrize("minimise", ["dense", "bits"])
@pytest.mark.parametrize("name", ["all words", "equal sums", "three letters, long", "skewed"])
def test_nasty_data_for_other_objectives(name, minimise):
    assert right(compile(from_rows(NASTY[name]), minimise=minimise), NASTY[name])


def test_the_checker_agrees_on_nasty_data(failures):
    for name in ("equal sums", "floats", "zero is a token, ragged", "skewed"):
        dataset = from_rows(NASTY[name])
        assert failures(compile(dataset), dataset) == [], name


# --- G2


@pytest.mark.parametrize("reject", [0, 7])
@pytest.mark.parametrize("minimise", OBJECTIVES)
@pytest.mark.parametrize("name", SIZES)
def test_predicted_counts_are_the_built_ones(name, minimise, reject, predicted):  # G2
    with tables_only():
        predicted(compile(from_rows(SIZES[name]), minimise=minimise, reject_unknown=reject))


@pytest.mark.parametrize("reject", [0, 7])
def test_no_threshold_of_a_label_is_long(reject, predicted):
    """Four labels without a decoder, five with one; a digit is read around 0."""
    for labels in (4, 5):
        rows = [([a, b], (a + b * b) % labels) for a, b in product(range(20), repeat=2)]
        with tables_only():
            model = compile(from_rows(rows), reject_unknown=reject)
        predicted(model)
        read = [p.value for p in model.network.parameters() if stage_of(model, p) == "read"]
        assert read and max(value.digits for value in read) <= 3


def stage_of(model, parameter):
    return model.network.layers[parameter.layer].stage


def test_the_fullest_position_of_words_is_as_full_as_expected():
    """400 words of 3 bits, four columns: 300 equations at the positions that all words reach."""
    code = prefix_code([100] * 8, 3)
    task = Task(400, 1200, code, 1, 1, 0, 3)
    assert expected_load(task, 4)[0] == 300
    assert expected_load(task, 2)[0] == 400  # a word has one bit at a position
    column = np.repeat(np.arange(4), 100)
    assert loads(column, np.full(400, 3), 4, 3).tolist() == [100, 200, 300, 300, 200, 100]


def test_words_are_longer_where_bits_count():
    """A fold for one more bit is three parameters, or 18 bits; a longer word saves equations."""
    counts = [int(30_000 / (rank + 1) ** 1.3) + 1 for rank in range(1200)]
    few, short = (label_code(counts, 0, objective) for objective in ("nonzero", "bits"))
    assert few.longest < short.longest

    def bits(code):
        equations = sum(c * n for c, n in zip(counts, code.lengths, strict=True))
        return equations + 18 * code.longest + 24 * len(code.kinks)

    assert bits(short) < bits(few)


def test_objectives_differ(dense_parameters):
    rows = labelled(product(range(9), repeat=3), 2)
    models = {name: compile(from_rows(rows), minimise=name) for name in OBJECTIVES}
    counts = {name: model.record.parameters for name, model in models.items()}
    assert counts["dense"].dense < counts["nonzero"].dense
    assert counts["nonzero"].nonzero < counts["dense"].nonzero
    for model in models.values():
        assert dense_parameters(model.network) == model.record.parameters.dense


def test_random_data_is_stored_near_the_promised_size():  # G2, with the limits
    pick = random.Random(8)
    rows = labelled(([pick.randrange(1000) for _ in range(4)] for _ in range(1000)), 2)
    model = compile(from_rows(rows))
    information = model.record.bits.information
    assert model.record.parameters.nonzero <= 222  # 206 for 863 contexts, by the square root
    assert model.record.bits.total <= 3 * information


def test_deterministic():
    rows = NASTY["equal sums"]
    one, two, other = (compile(from_rows(rows), seed=seed) for seed in (3, 3, 4))
    assert one.network == two.network and one.labels == two.labels
    assert one.record.search == two.record.search
    assert one.network != other.network
    assert 1 <= one.record.search.tries <= 100_000


# --- G3


def strangers(rows, count, vocabulary, length):
    seen, pick, found = {context(x) for x, _ in rows}, random.Random(9), {}
    while len(found) < count:
        tokens = [pick.randrange(vocabulary) for _ in range(pick.randint(1, length))]
        if context(tokens) not in seen:
            found[context(tokens)] = tokens
    return list(found.values())


@pytest.mark.parametrize("minimise", ["nonzero", "dense"])
@pytest.mark.parametrize("bits", [5, 14])
def test_strangers_are_rejected(bits, minimise):  # G3
    pick = random.Random(10)
    rows = labelled(([pick.randrange(30) for _ in range(4)] for _ in range(300)), 3)
    model = compile(from_rows(rows), reject_unknown=bits, minimise=minimise)
    assert right(model, rows)
    assert model.claim.unknown == len(model.labels)
    # with 14 bits 0.9 of 15000 are expected, at most 5 allowed
    unseen = strangers(rows, 1500 if bits == 5 else 15000, 30, 4)
    batch = batch_of(model.network, [model.numbers(tokens) for tokens in unseen])
    answers = evaluate(model.network, batch, "exact" if bits == 5 else "limbs")
    accepted = [y for y in answers if y == int(y) and 0 <= y < len(model.labels)]
    assert {y for y in answers if y not in accepted} == {model.claim.unknown}
    share, chance = len(accepted) / len(unseen), 2.0**-bits
    deviation = math.sqrt(chance * (1 - chance) / len(unseen))
    assert abs(share - chance) <= 5 * deviation, f"{len(accepted)} of {len(unseen)} accepted"
    known = [answer.known for answer in model.answers(unseen[:200])]
    assert known.count(True) == sum(0 <= y < len(model.labels) for y in answers[:200])
    assert all(answer.known for answer in model.answers([x for x, _ in rows[:50]]))


def test_too_long_a_fingerprint_is_refused():
    with pytest.raises(ByheartError, match="an integer from 0 to 40"):
        compile(from_rows([(["a"], 1)]), reject_unknown=41)


# --- A1


def test_conflicts_are_refused_before_building(monkeypatch):  # A1
    def never(*_):
        raise AssertionError("built")

    monkeypatch.setattr(building.reading, "search", never)
    monkeypatch.setattr(building, "search", never)
    rows = [(["a", "b", "c"], 1), (["b", "a", "c"], 2), (["a"], 3)]
    with pytest.raises(AssumptionError, match="A1 fails"):
        compile(from_rows(rows), positions=False)
    with pytest.raises(AssumptionError, match="A1 fails"):
        compile(from_rows([(["a"], 1), (["a"], 2)]), positions=True)
    with pytest.raises(AssertionError, match="built"):
        compile(from_rows(rows), positions=True)  # order tells them apart


def test_conflicts_resolved():
    rows = [(["a", "b", "c"], 1), (["b", "a", "c"], 2), (["b", "a", "c"], 2), (["a"], 3)]
    majority = compile(from_rows(rows), on_conflict="majority", positions=False)
    assert [majority.recall(x) for x, _ in rows] == [2, 2, 2, 3]
    how = {"on_conflict": "drop", "reject_unknown": 20, "positions": False}
    dropped = compile(from_rows([*rows, (["b"], 2)]), **how)
    assert dropped.recall(["a"]) == 3 and dropped.recall(["b"]) == 2
    assert dropped.recall(["c"]) is None
    assert right(compile(from_rows(rows), positions=True, on_conflict="majority"), rows)


# --- what a change does


def changed(network: Network, parameter, value: Fraction) -> Network:
    """The network with one weight replaced."""
    layer = network.layers[parameter.layer]
    tensor = layer.tensors[parameter.tensor]
    values = {(r, c): v.fraction for r, c, v in tensor.entries}
    values[parameter.row, parameter.column] = value
    new = replace(layer, **{parameter.tensor: matrix(tensor.rows, tensor.columns, values)})
    layers = list(network.layers)
    layers[parameter.layer] = new
    return replace(network, layers=tuple(layers))


@pytest.mark.parametrize("minimise", ["nonzero", "dense"])
def test_a_changed_weight_is_noticed_in_every_stage(minimise):
    pick = random.Random(11)
    rows = labelled(([pick.randrange(40) for _ in range(4)] for _ in range(200)), 5)
    dataset = from_rows(rows)
    model = compile(dataset, minimise=minimise, reject_unknown=3)
    weights = defaultdict(list)
    for parameter in model.network.parameters():
        weights[model.network.layers[parameter.layer].stage].append(parameter)
    unnoticed = []
    for stage, held in weights.items():
        noticed = []
        for parameter in pick.sample(held, min(4, len(held))):
            value = parameter.value.fraction
            for new in (value * Fraction(9, 8), value + 1):
                mutant = replace(model, network=changed(model.network, parameter, new))
                noticed.append(not verify(mutant, dataset, "exact").holds)
        if sum(noticed) * 2 < len(noticed):
            unnoticed.append((stage, noticed))
    assert len(weights) >= 10
    assert len(unnoticed) <= len(weights) / 10, unnoticed


def test_a_changed_label_is_refuted():
    rows = NASTY["equal sums"]
    model = compile(from_rows(rows))
    for place in (0, 17, len(rows) - 1):
        tokens, label = rows[place]
        wrong = [*rows[:place], (tokens, (label + 1) % 3), *rows[place + 1 :]]
        found = verify(model, from_rows(wrong))
        assert (found.evidence, found.correct) == ("refuted", len(rows) - 1)
        assert found.failures[0].startswith(f"sequence {place + 1}:")


# --- when the search fails


def test_no_plan_is_a_clean_error(monkeypatch):
    monkeypatch.setattr(limits, "candidates", lambda *_: [])
    with pytest.raises(ByheartError):
        compile(from_rows(NASTY["equal sums"]))


@pytest.mark.parametrize("patch", ["hash_contexts", "solve"])
def test_the_search_ends(patch, monkeypatch):
    """A hash that never fits, a system that is never solvable: an error after bounded attempts."""
    calls = []
    monkeypatch.setattr(building.reading, "search", lambda *_: None)
    monkeypatch.setattr(searching, patch, lambda *_: calls.append(1))
    with pytest.raises(ByheartError):
        compile(from_rows([([1, 2], 0), ([2, 3], 1), ([3, 4], 0)]))
    assert 1 <= len(calls) <= 10_000


def test_wrong_numbers_are_never_returned(monkeypatch):
    original = searching.solve
    monkeypatch.setattr(building.reading, "search", lambda *_: None)

    def wrong(*arguments):
        numbers = original(*arguments)
        return numbers and [numbers[0] ^ 1, *numbers[1:]]  # the lowest bit of the sum that all read

    monkeypatch.setattr(searching, "solve", wrong)
    with pytest.raises(ByheartError, match="not returned"):
        compile(from_rows(NASTY["equal sums"]))


# --- trace


@pytest.fixture(scope="module")
def traced():
    """Models to trace: with tables and lanes, narrow, with a fingerprint."""
    pick, kept, original = random.Random(12), {}, building.search

    def search(problem, *rest):
        kept.update(problem=problem, found=original(problem, *rest))
        return kept["found"]

    rows = labelled(([pick.randrange(30) for _ in range(4)] for _ in range(400)), 7)
    made = {}
    building.search = search
    try:
        for name, options in {
            "tables": {},
            "narrow": {"minimise": "dense"},
            "marks": {"reject_unknown": 6},
        }.items():
            with tables_only():
                model = compile(from_rows(rows), **options)
            made[name] = model, rows, kept["problem"], kept["found"]
    finally:
        building.search = original
    return made


KINDS = ("tables", "narrow", "marks")


@pytest.mark.parametrize("kind", KINDS)
def test_context_id_is_equal_for_equal_contexts(kind, traced):
    model, rows, *_ = traced[kind]
    identities = defaultdict(set)
    for tokens, label in rows[:40]:
        first = model.trace(tokens)
        for other in (tokens[1::-1] + tokens[2:], [tokens[2], *tokens[:2], tokens[3]]):
            assert model.trace(other).context_id == first.context_id
        identities[first.context_id].add(label)
    assert all(len(labels) == 1 for labels in identities.values())


def test_context_id_tells_contexts_apart():
    """Definition 4.1 with a label of its own for each context: all ids differ."""
    rows = [(list(tokens), i) for i, tokens in enumerate(product([3, 5, 8], repeat=2))]
    rows += [([3, 5, 8], 9), ([5, 3, 3], 10), ([8], 11), ([3], 12)]
    model = compile(from_rows(rows))
    assert len({model.trace(tokens).context_id for tokens, _ in rows}) == len(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_stored_bits_spell_the_label(kind, traced):
    model, rows, problem, _ = traced[kind]
    code, marks = problem.task.code, problem.task.marks
    for tokens, label in rows[:40]:
        found = model.trace(tokens)
        assert found.answer.label == label and len(found.bits) == problem.task.window
        total = math.floor(found.stored.fraction)
        gray = [(total >> place ^ total >> (place + 1)) & 1 for place in found.bits]
        rank = digit_order(len(model.labels)).index(model.labels.index(label))
        length = code.lengths[rank]
        word = code.words(code.longest)[rank] >> (code.longest - length)
        plain = np.bitwise_xor.accumulate(gray)[marks : marks + length].tolist()
        assert int("".join(map(str, plain)) or "0", 2) == word
        if not marks:
            assert int("".join(map(str, gray[:length])), 2) == word ^ word >> 1


def test_the_order_of_the_labels_tells_the_lengths_of_their_words_alone():
    """Counts 5, 1, 2, 1, 3 of a to e, words of 2, 3, 2, 3 and 2 bits.

    Which of two labels with words of one length is more frequent does not matter.
    """
    rows = [([i], label) for i, label in enumerate("aaaaabccdeee")]
    model = compile(from_rows(rows))
    assert [model.labels[output] for output in digit_order(5)] == list("acebd")
    rows = [([i], label) for i, label in enumerate("aaabbbbcccccdddddd")]
    assert [compile(from_rows(rows)).labels[output] for output in digit_order(4)] == list("abcd")


@pytest.mark.parametrize("kind", KINDS)
def test_holders_hold_the_sum(kind, traced):
    model, rows, *_ = traced[kind]
    every = set(model.network.parameters())
    for tokens, _ in rows[:3]:
        found = model.trace(tokens)
        assert found.holders and set(found.holders) <= every
        assert len(set(found.holders)) == len(found.holders)
        for holder in found.holders:
            network = changed(model.network, holder, holder.value.fraction + 4)
            after = replace(model, network=network).trace(tokens)
            assert after.stored != found.stored, holder


@pytest.mark.parametrize("kind", KINDS)
def test_other_stored_weights_do_not_change_the_sum(kind, traced):
    """Holders are all: a threshold or table weight that is no holder leaves the sum as it is."""
    model, rows, *_ = traced[kind]
    tokens = rows[0][0]
    found = model.trace(tokens)
    indices = {  # lanes with a row index, which a select may reset
        (i, entry.column)
        for i, layer in enumerate(model.network.layers)
        if layer.stage == "select"
        for entry in layer.W1.entries
    }
    others = [
        p
        for p in model.network.parameters()
        if p not in set(found.holders)
        and (model.network.layers[p.layer].stage, p.tensor)
        in (("store", "b1"), ("gate", "b1"), ("select", "W2"))
        and (p.layer, p.row) not in indices
    ]
    for other in random.Random(13).sample(others, min(15, len(others))):
        network = changed(model.network, other, other.value.fraction + 1)
        assert replace(model, network=network).trace(tokens).stored == found.stored, other


@pytest.mark.parametrize("kind", KINDS)
def test_stages_cover_the_layers_in_order(kind, traced):
    model, rows, *_ = traced[kind]
    found = model.trace(rows[0][0])
    stages = found.stages
    assert stages[0].first == 0 and stages[-1].last == len(model.network.layers) - 1
    assert all(a.last + 1 == b.first for a, b in pairwise(stages))
    assert all(a.first <= a.last and 0 <= a.fired <= a.units for a in stages)
    assert dyadic(stages[-1].lanes.get(0, dyadic(0)).fraction) == found.output
