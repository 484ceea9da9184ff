"""Decoders: bounds are never below the true divergence, are close to it, and false claims fail.

The oracle is python-flint's ball arithmetic on the definition of section 9, where it is installed.
"""

import json
import math
import random
import struct
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import check
import good_examples

CHECKER = Path(__file__).resolve().parent.parent
EXAMPLES = CHECKER / "examples"
BITS = 700  # of the oracle


def run(*arguments: object) -> int:
    return check.main([str(argument) for argument in arguments])


def saved(folder: Path, example: dict) -> Path:
    good_examples.write(folder, good_examples.build_decoder(example))
    return folder


def opened(folder: Path) -> tuple[check.LanguageModel, list[check.Context]]:
    model, data = check.read_model(str(folder)), check.read_data(str(folder / "data.jsonl"))
    return model, check.contexts_of(model, data)


def loaded(example: dict, folder: Path) -> tuple[check.LanguageModel, list[check.Context]]:
    return opened(saved(folder, example))


def documents(seed: int, words: list, number: int, length: int) -> list[dict]:
    """The prefixes of random documents, so that some contexts occur often."""
    pick, rows = random.Random(seed), []
    for _ in range(number):
        text = [pick.choice(words) for _ in range(length + 1)]
        rows += [{"input": text[:k], "label": text[k]} for k in range(1, length + 1)]
        rows[-1]["count"] = pick.randrange(1, 9)
    return rows


ATTENTION = {"dimension": 3, "heads": 2, "key_dimension": 2, "value_dimension": 3, "skip": True}
MIXINGS = [{}, ATTENTION, good_examples.TOKEN_SUM]
WORDS = ["a", "b", "c", "d", "e", "f", "g"]


# ---------------------------------------------------------------- the oracle


def balls(bits: int = BITS):
    """A function that makes balls of python-flint from fractions."""
    flint = pytest.importorskip("flint", reason="python-flint is the oracle")
    flint.ctx.prec = bits

    def ball(value):
        value = Fraction(value)
        return flint.arb(flint.fmpq(value.numerator, value.denominator))

    return ball


def activated(name: str, x, arb):
    functions = {
        "logistic": lambda: 1 / (1 + (-x).exp()),
        "tanh": x.tanh,
        "erf": x.erf,
        "arctan": x.atan,
        "gelu": lambda: x * (1 + (x / arb(2).sqrt()).erf()) / 2,
    }
    return functions[name]()


def true_mixed(example: dict, numbers: list[int], arb) -> list:
    """g, word for word as section 9 has it."""
    shape = example["decoder"]
    tensors = {
        name: [[arb(x) for x in row] if isinstance(row, list) else arb(row) for row in rows]
        for name, rows in example["tensors"].items()
    }
    z, d = tensors["embedding.weight"], range(shape["dimension"])
    if shape["mixing"] == "token_sum":
        weights = tensors["token_sum.weight"]
        return [total(weights[t] * z[a][i] for t, a in enumerate(numbers)) for i in d]
    u = tensors["positions.weight"]
    x = [[z[a][i] + u[t][i] for i in d] for t, a in enumerate(numbers)]
    query, key, value, out = (
        tensors[f"attention.{name}.weight"] for name in ("query", "key", "value", "out")
    )
    g = list(x[-1]) if shape["skip"] else [arb(0) for _ in d]
    for r in range(shape["heads"]):
        rows = range(r * shape["key_dimension"], (r + 1) * shape["key_dimension"])
        asked = [inner(query[j], x[-1]) for j in rows]
        scores = [inner([inner(key[j], xt) for j in rows], asked) for xt in x]
        powers = [score.exp() for score in scores]
        mean = [inner(powers, [xt[i] for xt in x]) / total(powers) for i in d]
        rows = range(r * shape["value_dimension"], (r + 1) * shape["value_dimension"])
        heard = {j: inner(value[j], mean) for j in rows}
        g = [g[i] + total(out[i][j] * heard[j] for j in rows) for i in d]
    return g


def inner(first, second):
    return total(a * b for a, b in zip(first, second, strict=True))


def total(numbers):
    found = None
    for number in numbers:
        found = number if found is None else found + number
    return found


def true_divergence(example: dict, context: check.Context, arb):
    tensors, activation = example["tensors"], example["decoder"]["activation"]
    values = g = true_mixed(example, context.tokens, arb)
    if activation != "none":
        values = [
            activated(activation, inner([arb(w) for w in row], g) + arb(bias), arb)
            for row, bias in zip(tensors["hidden.weight"], tensors["hidden.bias"], strict=True)
        ]
    logits = [inner([arb(v) for v in row], values) for row in tensors["output.weight"]]
    log_sum = total(logit.exp() for logit in logits).log()
    times = sum(context.counts.values())
    shares = {label: Fraction(count, times) for label, count in context.counts.items()}
    return total(arb(p) * (arb(p).log() - logits[j] + log_sum) for j, p in shares.items())


# ---------------------------------------------------------------- functions


def fixed(arb, number: int, bits: int):
    return arb(Fraction(number, 1 << bits))


numbers = st.tuples(st.integers(-(2**70), 2**70), st.integers(-120, 8))


def scaled(pair: tuple[int, int], bits: int) -> int:
    """The integer that stands for about pair[0] 2^(pair[1] - 70)."""
    return check.shifted(pair[0], bits - 70 + pair[1])


@settings(max_examples=120, deadline=None)
@given(numbers, st.sampled_from([40, 64, 163, 600]))
def test_the_exponential_is_as_close_as_it_says(pair, bits):
    exp, x, ball = check.exponential(bits), scaled(pair, bits), balls(2000)
    true = fixed(ball, x, bits).exp()
    mantissa, k = exp.parts(x)
    scale = Fraction(2) ** (k - bits)
    assert abs(ball(mantissa * scale) - true) <= ball(exp.ERROR * scale)
    assert true <= fixed(ball, exp.up(x), bits)
    if x <= 0:
        assert abs(fixed(ball, exp.near(x), bits) - true) <= fixed(ball, exp.ERROR + 2, bits)
    y = abs(x) + 1
    low, high, log = exp.log_down(y), exp.log_up(y), fixed(ball, y, bits).log()
    assert fixed(ball, low, bits) <= log <= fixed(ball, high, bits)
    assert high - low <= 2**10 + (64 << bits) // y


@pytest.mark.parametrize("name", check.ACTIVATIONS)
@settings(max_examples=60, deadline=None)
@given(pair=numbers, precision=st.sampled_from([32, 90, 400]))
def test_activations_are_as_close_as_they_say(name, pair, precision):
    function, ball = check.Activation(name, precision, 9), balls(2000)
    for x in {scaled(pair, function.bits), check.shifted(pair[0], function.bits - 66)}:
        true = activated(name, fixed(ball, x, function.bits), ball)
        found = fixed(ball, function.apply(x), function.bits)
        assert abs(found - true) <= fixed(ball, 1, precision)


def test_tails_are_bounds():
    arb = balls()
    for far in [*range(1, 300, 9), 2560, check.FAR]:
        a = arb(Fraction(far, 64))
        limits = {
            "logistic": 1 / (1 + a.exp()),
            "tanh": 1 - a.tanh(),
            "erf": a.erfc(),
            "gelu": a * (a / arb(2).sqrt()).erfc() / 2,
        }
        for name, true in limits.items():
            assert true <= fixed(arb, check.tail(name, far), check.TAIL)


def test_constants():
    assert check.log_two(52) in (int(math.log(2) * 2**52), int(math.log(2) * 2**52) + 1)
    assert abs(check.pi(50) - int(math.pi * 2**50)) <= 1
    assert check.Activation("arctan", 20, 0).apply(1 << 52) >> 2 == check.pi(52) >> 4


# ---------------------------------------------------------------- bounds against the oracle


def some_decoder(pick: random.Random) -> dict:
    """A small decoder of any kind, with weights that are not close to anything."""
    words, length, d = WORDS[: pick.randrange(2, 6)], pick.randrange(1, 4), pick.randrange(1, 4)
    neurons, scale = pick.randrange(1, 5), pick.choice([0.3, 2, 30])
    sizes = {"neurons": neurons, "activation": pick.choice(check.ACTIVATIONS)}
    mixing = good_examples.TOKEN_SUM if pick.random() < 0.3 else some_heads(pick)
    shape = good_examples.decoder_shape("string", words, length, d, **mixing, **sizes)
    return filled(pick, shape, words, scale)


def some_heads(pick: random.Random) -> dict:
    heads = {key: pick.randrange(1, 4) for key in ("heads", "key_dimension", "value_dimension")}
    return {**heads, "skip": pick.random() < 0.5}


def without_neurons(pick: random.Random) -> dict:
    """A small decoder without neurons, perhaps with padding, and in doubles or dyadic numbers."""
    words, length, d = WORDS[: pick.randrange(3, 6)], pick.randrange(1, 4), pick.randrange(1, 5)
    sizes = {"neurons": 0, "activation": "none", "padding": pick.choice([None, 0, len(words) - 1])}
    shape = good_examples.decoder_shape("string", words, length, d, **some_heads(pick), **sizes)
    example = filled(pick, shape, words, pick.choice([0.1, 1, 10]))
    if pick.random() < 0.5:
        example["number"] = "dyadic"
        third = Fraction(2**200 // 3, 2 ** pick.choice([190, 200, 210]))
        tensors = example["tensors"].items()
        example["tensors"] = {
            name: [[Fraction(x) * third for x in row] for row in rows] for name, rows in tensors
        }
    return example


def filled(pick: random.Random, shape: dict, words: list, scale: float) -> dict:
    """A decoder of that shape, and documents of those words that it may read."""
    tensors = {}
    for name, sides in check.read_shape({"number": "float64", "decoder": shape}).tensors.items():
        rows = [
            [some_number(pick, scale) for _ in range(math.prod(sides[1:]))] for _ in range(sides[0])
        ]
        tensors[name] = rows if len(sides) == 2 else [row[0] for row in rows]
    reads = [word for place, word in enumerate(words) if place != shape.get("padding")]
    rows = documents(pick.randrange(10**6), reads, 3, shape["length"])
    return {"decoder": shape, "tensors": tensors, "words": words, "rows": rows, "gap": "0.01"}


def some_number(pick: random.Random, scale: float) -> float:
    return 0.0 if pick.random() < 0.15 else pick.gauss(0, 1) * scale


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**9), exponent=st.sampled_from([-30, -9, -2, 1]))
def test_bounds_of_any_decoder_enclose_the_divergence(seed, exponent, tmp_path_factory):
    example, ball = some_decoder(random.Random(seed)), balls()
    model, contexts = loaded(example, tmp_path_factory.mktemp("decoder") / "d")
    gap = Fraction(10) ** exponent
    for context, bound in zip(
        contexts, check.Dense(model.decoder, gap).bounds(contexts), strict=True
    ):
        true = true_divergence(example, context, ball)
        assert true <= ball(bound) <= true + ball(gap / 2**20)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**9), exponent=st.sampled_from([-30, -9, -2, 1]))
def test_bounds_without_neurons_enclose_the_divergence(seed, exponent, tmp_path_factory):
    """The oracle fills the contexts up itself."""
    example, ball = without_neurons(random.Random(seed)), balls()
    model, contexts = loaded(example, tmp_path_factory.mktemp("attention") / "d")
    gap, shape = Fraction(10) ** exponent, example["decoder"]
    for context, bound in zip(
        contexts, check.Heads(model.decoder, gap).bounds(contexts), strict=True
    ):
        numbers = [example["words"].index(t) for t in example["rows"][context.first]["input"]]
        if shape["padding"] is not None:
            numbers = [shape["padding"]] * (shape["length"] - len(numbers)) + numbers
        true = true_divergence(example, check.Context(0, numbers, context.counts), ball)
        assert true <= ball(bound) <= true + ball(gap / 2**20)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    gamma=st.floats(1.5, 40),
    activation=st.sampled_from(check.STEEP),
    mixing=st.sampled_from(MIXINGS),
    noise=st.sampled_from([0, 1e-9, 1e-3]),
)
def test_the_short_proof_is_sound(seed, gamma, activation, mixing, noise, tmp_path_factory):
    example, ball = steep_example(seed, gamma, activation, mixing, noise), balls()
    model, contexts = loaded(example, tmp_path_factory.mktemp("steep") / "d")
    try:
        bounds = check.Steep(model.decoder, contexts, model.gap).bounds()
    except check.NotSteep:
        assert noise
        return
    for context, bound in zip(contexts, bounds, strict=True):
        true = true_divergence(example, context, ball)
        assert true <= ball(bound)
        if gamma == 40 and not noise:
            assert ball(bound) <= true * (1 + ball(Fraction(1, 10**6)))


def steep_example(seed: int, gamma: float, activation: str, mixing: dict, noise: float) -> dict:
    pick = random.Random(seed)
    rows = documents(seed, WORDS[:4], 3, 3)
    example = good_examples.steep(rows, WORDS[:5], activation, gamma, **mixing)
    tensors = example["tensors"]
    if noise:
        tensors["hidden.bias"] = [b * (1 + pick.gauss(0, noise)) for b in tensors["hidden.bias"]]
        output = tensors["output.weight"]
        tensors["output.weight"] = [[v and v + pick.gauss(0, noise) for v in row] for row in output]
    return example


@pytest.mark.parametrize("activation", check.STEEP)
@pytest.mark.parametrize("mixing", MIXINGS, ids=["one", "heads", "sum"])
def test_the_short_proof_is_tight(activation, mixing, tmp_path):
    arb = balls()
    example = good_examples.steep(documents(1, WORDS, 6, 4), WORDS, activation, 40, **mixing)
    model, contexts = loaded(example, tmp_path / "d")
    bounds = check.Steep(model.decoder, contexts, model.gap).bounds()
    assert len(bounds) > 15
    for context, bound in list(zip(contexts, bounds, strict=True))[::4]:
        true = true_divergence(example, context, arb)
        assert true <= arb(bound) <= true * arb(1 + Fraction(1, 10**6))


@pytest.mark.parametrize("mixing", MIXINGS, ids=["one", "heads", "sum"])
def test_the_line_encloses_the_sums_of_coordinates(mixing, tmp_path):
    """With few bits the radius is large, and still no larger than it must be by much."""
    example = good_examples.steep(documents(8, WORDS, 5, 4), WORDS, "logistic", 40, **mixing)
    model, contexts = loaded(example, tmp_path / "d")
    line = check.line(check.scalars(model.decoder), model.decoder, contexts, 70)
    unit, arb = Fraction(2) ** line.exponent, balls()
    assert line.values == sorted(line.values) and line.radius * unit < Fraction(1, 2**40)
    for place, value in zip(line.order, line.values, strict=True):
        true = total(true_mixed(example, contexts[place].tokens, arb))
        assert abs(true - arb(value * unit)) <= arb(line.radius * unit)


@pytest.mark.parametrize("activation", check.STEEP)
def test_what_is_not_known_of_the_line_is_allowed_for(activation, tmp_path, monkeypatch):
    example = good_examples.steep(documents(9, WORDS, 3, 3), WORDS, activation)
    model, contexts = loaded(example, tmp_path / "d")
    enclose, arb = check.line, balls()

    def displaced(*arguments) -> check.Line:
        found = enclose(*arguments)
        values = found.values
        shift = min(b - a for a, b in zip(values, values[1:], strict=False)) // 10**4
        moved = [value + (-1) ** place * shift for place, value in enumerate(values)]
        return check.Line(moved, found.order, found.radius + shift, found.exponent)

    monkeypatch.setattr(check, "line", displaced)
    bounds = check.Steep(model.decoder, contexts, model.gap).bounds()
    for context, bound in zip(contexts, bounds, strict=True):
        assert true_divergence(example, context, arb) <= arb(bound)


def test_contexts_that_cannot_be_told_apart_are_not_saturated(tmp_path, monkeypatch):
    example = good_examples.steep(documents(9, WORDS, 3, 3), WORDS, "logistic")
    model, contexts = loaded(example, tmp_path / "d")
    found = check.line(check.scalars(model.decoder), model.decoder, contexts, 300)
    for part, fits in ((3, True), (1, False)):  # thirds and more of the least distance
        radius = min(b - a for a, b in zip(found.values, found.values[1:], strict=False)) // part
        wide = check.Line(found.values, found.order, radius, found.exponent)
        monkeypatch.setattr(check, "line", lambda *_, wide=wide: wide)
        if fits:
            assert check.Steep(model.decoder, contexts, model.gap).switches
            continue
        with pytest.raises(check.NotSteep, match="not saturated"):
            check.Steep(model.decoder, contexts, model.gap)


@pytest.mark.parametrize("height", [12.0, -12.0])
def test_ramps_may_rise_and_fall_off_the_support(height, tmp_path):
    """One more neuron, always on, moves the logit of a word that never follows."""
    example = good_examples.steep(documents(10, WORDS[:5], 4, 3), WORDS, "gelu")
    tensors = example["tensors"]
    tensors["hidden.weight"].append([10.0])
    tensors["hidden.bias"].append(10.0)
    tensors["output.weight"] = [[*row, 0.0] for row in tensors["output.weight"]]
    tensors["output.weight"][-1][-1] = height / 10
    example["decoder"]["neurons"] += 1
    model, contexts = loaded(example, tmp_path / "d")
    bounds, arb = check.Steep(model.decoder, contexts, model.gap).bounds(), balls()
    for context, bound in zip(contexts, bounds, strict=True):
        assert true_divergence(example, context, arb) <= arb(bound)


@pytest.mark.parametrize("slope, bias", [(0.0, 1.0), (-2.0, 100.0)])
def test_the_short_proof_needs_positive_slopes(slope, bias, tmp_path):
    example = good_examples.steep(documents(11, WORDS, 3, 2), WORDS, "logistic")
    example["tensors"]["hidden.weight"][2], example["tensors"]["hidden.bias"][2] = [slope], bias
    model, contexts = loaded(example, tmp_path / "d")
    with pytest.raises(check.NotSteep, match="not positive"):
        check.Steep(model.decoder, contexts, model.gap)


@pytest.mark.parametrize("activation", check.STEEP)
def test_the_short_proof_needs_saturated_neurons(activation, tmp_path):
    """The argument of one neuron is 0, up to rounding, at a context."""
    example = good_examples.steep(documents(12, WORDS, 3, 2), WORDS, activation)
    model, contexts = loaded(example, tmp_path / "d")
    line = check.Steep(model.decoder, contexts, model.gap).line
    weight = example["tensors"]["hidden.weight"][3][0]
    middle = line.values[3] * Fraction(2) ** line.exponent
    example["tensors"]["hidden.bias"][3] = float(-middle * Fraction(weight))
    model, contexts = loaded(example, tmp_path / "e")
    with pytest.raises(check.NotSteep, match="not saturated"):
        check.Steep(model.decoder, contexts, model.gap)


# ---------------------------------------------------------------- the two ways agree


@pytest.mark.parametrize("activation", check.STEEP)
@pytest.mark.parametrize("mixing", MIXINGS, ids=["one", "heads", "sum"])
def test_both_proofs_agree(activation, mixing, tmp_path):
    example = good_examples.steep(documents(2, WORDS, 12, 5), WORDS, activation, 40, **mixing)
    model, contexts = loaded(example, tmp_path / "d")
    short = check.Steep(model.decoder, contexts, model.gap).bounds()
    for one, other in zip(
        short, check.Dense(model.decoder, model.gap).bounds(contexts), strict=True
    ):
        assert abs(one - other) <= max(one, other) / 10**6
    assert max(short) < model.gap


@pytest.mark.parametrize("activation", check.STEEP)
def test_neurons_may_stand_in_any_order_and_some_may_be_idle(activation, tmp_path):
    example = good_examples.steep(documents(3, WORDS, 8, 4), WORDS, activation)
    model, contexts = loaded(example, tmp_path / "sorted")
    wanted = check.Steep(model.decoder, contexts, model.gap).bounds()
    tensors, order = example["tensors"], list(range(len(contexts)))
    random.Random(0).shuffle(order)
    tensors["hidden.weight"] = [[-1.0], *(tensors["hidden.weight"][k] for k in order)]
    tensors["hidden.bias"] = [0.125, *(tensors["hidden.bias"][k] for k in order)]
    tensors["output.weight"] = [[0.0, *(row[k] for k in order)] for row in tensors["output.weight"]]
    example["decoder"]["neurons"] += 1
    model, contexts = loaded(example, tmp_path / "shuffled")
    assert check.Steep(model.decoder, contexts, model.gap).bounds() == wanted


def test_contexts_with_one_target_may_share_their_neurons(tmp_path):
    """Fewer neurons than contexts: neighbours in s with equal targets are on one step."""
    rows = [{"input": [a, b], "label": a} for a in WORDS for b in WORDS]
    full = good_examples.steep(rows, WORDS, "logistic")
    output = full["tensors"]["output.weight"]
    kept = [k for k in range(len(rows)) if any(row[k] for row in output)]
    assert len(kept) < len(rows)
    tensors = full["tensors"]
    for name in ("hidden.weight", "hidden.bias"):
        tensors[name] = [tensors[name][k] for k in kept]
    tensors["output.weight"] = [[row[k] for k in kept] for row in output]
    full["decoder"]["neurons"] = len(kept)
    folder = saved(tmp_path / "d", full)
    assert run(folder, folder / "data.jsonl") == 0 and shown_shortly(folder)


def shown_shortly(folder: Path) -> bool:
    """Whether the short proof alone shows the gap of every context."""
    model, contexts = opened(folder)
    return max(check.Steep(model.decoder, contexts, model.gap).bounds()) <= model.gap


def test_logits_that_are_all_far_below_zero_are_no_obstacle(tmp_path):
    example = good_examples.steep(documents(4, WORDS, 5, 3), WORDS, "logistic")
    tensors = example["tensors"]
    tensors["hidden.weight"].append([1.0])
    tensors["hidden.bias"].append(1000.0)
    tensors["output.weight"] = [[*row, -700.0] for row in tensors["output.weight"]]
    example["decoder"]["neurons"] += 1
    assert shown_shortly(saved(tmp_path / "d", example))


# ---------------------------------------------------------------- claims


def test_the_gap_decides(tmp_path, capsys):
    example = good_examples.steep(documents(5, WORDS, 5, 3), WORDS, "tanh")
    folder = saved(tmp_path / "d", example)
    assert run(folder, folder / "data.jsonl", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    largest = answer["divergence"]
    assert answer["verdict"] == "VERIFIED" and answer["checked"] == answer["correct"] > 9
    for factor, code in ((1 + 1e-9, 0), (1 - 1e-9, 1)):
        claim = json.loads((folder / "certificate.json").read_text())
        claim["gap"] = repr(largest * factor)
        (folder / "certificate.json").write_text(json.dumps(claim))
        assert run(folder, folder / "data.jsonl") == code


def test_a_sample_is_an_audit(capsys):
    folder = EXAMPLES / "good" / "next-word"
    assert run(folder, folder / "data.jsonl", "--sample", 4, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["verdict"], answer["checked"], answer["correct"]) == ("SAMPLED", 4, 4)
    assert run(folder, folder / "data.jsonl", "--sample", 4) == 0
    assert "the other contexts were not evaluated" in capsys.readouterr().out


def test_without_data_only_the_structure_is_checked(capsys):
    assert run(EXAMPLES / "good" / "next-word") == 0
    assert capsys.readouterr().out == "STRUCTURE OK, no data checked\n"


@pytest.mark.parametrize("name", ["next-word", "ramp", "heads", "digits", "attend"])
def test_decoders_are_checked_without_site_packages(name):
    folder = EXAMPLES / "good" / name
    done = subprocess.run(
        [sys.executable, "-I", "-S", CHECKER / "check.py", folder, folder / "data.jsonl", "--json"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == b""
    answer = json.loads(done.stdout)
    assert answer["verdict"] == "VERIFIED" and answer["checked"] == answer["correct"] > 3


def test_what_takes_too_long_is_refused_with_advice(monkeypatch, capsys):
    folder = EXAMPLES / "good" / "heads"
    monkeypatch.setattr(check, "SECONDS", 1e-4)
    assert run(folder, folder / "data.jsonl") == 2
    said = capsys.readouterr().err
    assert "--sample K" in said and "arctan has no steep form" in said


def test_heads_without_neurons_are_refused_or_sampled_if_there_are_many(monkeypatch, capsys):
    folder = EXAMPLES / "good" / "attend"
    model, contexts = opened(folder)
    seconds = check.Heads(model.decoder, model.gap).seconds(contexts)
    monkeypatch.setattr(check, "SECONDS", seconds / 2)
    assert run(folder, folder / "data.jsonl") == 2
    assert "would take about" in (said := capsys.readouterr().err) and "--sample K" in said
    assert run(folder, folder / "data.jsonl", "--sample", 1) == 0
    assert capsys.readouterr().out.startswith("SAMPLED: 1 of 1")


def associations(contexts: int, words: int, heads: int, d: int = 10) -> tuple:
    """Random heads, with as many contexts of two tokens as are wanted."""
    pick = random.Random(0)
    sides = {
        "embedding.weight": (words, d), "positions.weight": (2, d),
        "attention.query.weight": (heads * d, d), "attention.key.weight": (heads * d, d),
        "attention.value.weight": (heads * d, d), "attention.out.weight": (d, heads * d),
        "output.weight": (words, d),
    }  # fmt: skip
    matrices = {
        name: check.double_matrix(
            check.array("d", [pick.gauss(0, 1) for _ in range(rows * columns)]),
            name,
            (rows, columns),
        )
        for name, (rows, columns) in sides.items()
    }
    shape = check.Shape("float64", "string", words, 2, d, True, heads, d, d, True, 0, "none", None)
    pairs = [divmod(place, words) for place in range(contexts)]
    return (
        check.Decoder(shape, matrices, {}),
        [check.Context(i, list(pair), {i % words: 1}) for i, pair in enumerate(pairs)],
    )


def test_a_thousand_associations_are_within_the_time_and_ten_thousand_are_not():
    decoder, contexts = associations(1000, 50, 100)
    seconds = check.Heads(decoder, Fraction(1, 10**9)).seconds(contexts)
    assert 1 < seconds < check.SECONDS / 3
    decoder.shape.heads = 1000  # the weights are not looked at
    many = [check.Context(i, [i % 100, i // 100], {0: 1}) for i in range(10_000)]
    assert check.Heads(decoder, Fraction(1, 10**9)).seconds(many) > 3 * check.SECONDS


def test_what_cannot_be_shown_is_a_failure_and_no_refutation(monkeypatch, tmp_path, capsys):
    """Neurons that are hardly saturated: the short proof does not reach the gap."""
    example = good_examples.steep(documents(6, WORDS, 4, 3), WORDS, "logistic", gamma=7)
    folder = saved(tmp_path / "d", {**example, "gap": "1e-4"})
    monkeypatch.setattr(check.Dense, "seconds", lambda self, contexts: 1e9)
    assert run(folder, folder / "data.jsonl", "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "NOT VERIFIED" and answer["evidence"] is None
    assert "cannot be shown to be at most 1e-4" in answer["failures"][0]
    monkeypatch.undo()
    assert run(folder, folder / "data.jsonl") == 0  # neuron by neuron it holds


def test_npz_and_floats_are_tokens_of_kind_number(tmp_path):
    rows = [{"input": [a, b], "label": b} for a in (1, 2, 3) for b in (3, 1)]
    example = good_examples.steep(rows, [3, 2, 1], "erf")
    folder = saved(tmp_path / "d", example)
    numpy = pytest.importorskip("numpy", reason="numpy writes the .npz file")
    inputs = numpy.array([row["input"] for row in rows], dtype=float)
    labels = numpy.array([row["label"] for row in rows])
    numpy.savez(tmp_path / "data.npz", inputs=inputs, labels=labels)
    assert run(folder, tmp_path / "data.npz") == 0
    numpy.savez(tmp_path / "data.npz", inputs=inputs + 0.5, labels=labels)
    assert run(folder, tmp_path / "data.npz") == 1


def test_a_string_is_no_integer(tmp_path, capsys):
    rows = [{"input": ["1"], "label": 1}, {"input": ["2"], "label": 2}]
    example = good_examples.steep(rows, ["1", "2", 1, 2], "logistic")
    folder = saved(tmp_path / "d", example)
    assert run(folder, folder / "data.jsonl") == 0
    example["words"] = [1, 2, "1", "2"]
    folder = saved(tmp_path / "e", example)
    assert run(folder, folder / "data.jsonl") == 1
    assert "the divergence is" in capsys.readouterr().out


def test_equal_sequences_are_one_context_and_counts_weigh(tmp_path):
    rows = [{"input": ["a"], "label": "a", "count": 2}, {"input": ["b"], "label": "b"}]
    rows += [{"input": ["a"], "label": "b"}, {"input": ["a"], "label": "a"}]
    model, contexts = loaded(good_examples.steep(rows, ["a", "b"], "tanh"), tmp_path / "d")
    assert [context.counts for context in contexts] == [{0: 3, 1: 1}, {1: 1}]
    assert model.contexts == 2 and shown_shortly(tmp_path / "d")


@pytest.mark.parametrize("activation", check.STEEP)
def test_every_changed_count_is_noticed(activation, tmp_path):
    rows = documents(7, WORDS, 4, 2)
    example = good_examples.steep(rows, WORDS, activation)
    following = good_examples.targets(rows)
    for index, row in enumerate(rows):
        if len(following[tuple(row["input"])]) == 1:
            continue
        changed = [dict(row) for row in rows]
        changed[index]["count"] = row.get("count", 1) + 1
        folder = saved(tmp_path / str(index), {**example, "rows": changed})
        assert run(folder, folder / "data.jsonl") == 1
    assert any(len(labels) > 1 for labels in following.values())


# ---------------------------------------------------------------- mutations


DECODERS = sorted(good_examples.GOOD_DECODERS)


def holds(example: dict, contexts: list[check.Context]) -> bool:
    """Whether the claim is true, by the oracle."""
    arb = balls()
    gap = arb(Fraction(example["gap"]))
    return all(true_divergence(example, context, arb) <= gap for context in contexts)


@pytest.mark.parametrize("name", DECODERS)
def test_the_good_decoders_hold_for_the_oracle(name):
    example = good_examples.GOOD_DECODERS[name]()
    assert holds(example, opened(EXAMPLES / "good" / name)[1])


@pytest.mark.parametrize("name", DECODERS)
def test_a_changed_number_is_accepted_exactly_if_the_claim_is_true(name, tmp_path):
    """Small and large changes of any one weight; hashes and counts agree with it."""
    pick, codes = random.Random(name), []
    for case in range(24):
        example = good_examples.GOOD_DECODERS[name]()
        tensor = example["tensors"][pick.choice(list(example["tensors"]))]
        row = pick.randrange(len(tensor))
        line, place = (tensor[row], -1) if isinstance(tensor[row], list) else (tensor, row)
        line[place] += pick.choice([1, -1]) * pick.choice([2.0**-40, 2.0**-12, 0.5, 3])
        folder = saved(tmp_path / str(case), example)
        codes.append(run(folder, folder / "data.jsonl"))
        assert codes[-1] == (0 if holds(example, opened(folder)[1]) else 1)
    assert {0, 1} == set(codes)


@pytest.mark.parametrize("name", ["next-word", "ramp", "attend"])
def test_a_changed_label_is_noticed(name, tmp_path):
    example = good_examples.GOOD_DECODERS[name]()
    for place, row in enumerate(example["rows"]):
        same = isinstance(row["label"], str)
        words = [word for word in example["words"] if isinstance(word, str) == same]
        other = next(word for word in words if word != row["label"])
        rows = [*example["rows"][:place], {**row, "label": other}, *example["rows"][place + 1 :]]
        folder = saved(tmp_path / str(place), {**example, "rows": rows})
        assert run(folder, folder / "data.jsonl") == 1


def test_swapped_contexts_are_noticed(tmp_path):
    """What follows one context is said to follow another: as many contexts, as many labels."""
    rows = documents(13, WORDS, 3, 2)
    example = good_examples.steep(rows, WORDS, "logistic")
    one, other = rows[0]["input"], rows[3]["input"]
    assert good_examples.targets(rows)[tuple(one)] != good_examples.targets(rows)[tuple(other)]
    swap = {tuple(one): other, tuple(other): one}
    changed = [{**row, "input": swap.get(tuple(row["input"]), row["input"])} for row in rows]
    folder = saved(tmp_path / "d", {**example, "rows": changed})
    assert run(folder, folder / "data.jsonl") == 1


def test_padding_is_part_of_what_is_read(tmp_path, capsys):
    """Its embedding counts where a context is short, and only there."""
    example = good_examples.attend()
    example["tensors"]["embedding.weight"][3] = [0.0, 1.0, 0.0, 0.0]  # as "y"
    folder = saved(tmp_path / "d", example)
    assert run(folder, folder / "data.jsonl", "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["checked"], answer["correct"]) == (6, 4) and answer["evidence"] == "refuted"
    rows = [row for row in example["rows"] if len(row["input"]) == 2]
    folder = saved(tmp_path / "e", {**example, "rows": rows})
    assert run(folder, folder / "data.jsonl") == 0


# ---------------------------------------------------------------- hostile files


@pytest.mark.parametrize("number", ["float64", "dyadic"])
def test_many_heads_without_weights_are_refused(number, tmp_path, capsys):
    """Sizes that fit the format and no memory; the tensors are not in the file or all 0."""
    folder = saved(tmp_path / "d", {**good_examples.attend(), "number": number})
    config = json.loads((folder / "config.json").read_text())
    config["decoder"] |= {"dimension": 2**20, "heads": 2**18, "value_dimension": 3}
    files = {p.name: p.read_bytes() for p in folder.iterdir()}
    files["config.json"] = json.dumps(config).encode()
    for name, content in good_examples.seal(files).items():
        (folder / name).write_bytes(content)
    assert run(folder, folder / "data.jsonl") == 2
    assert (
        "has shape" if number == "float64" else "more than 2^24 parameters"
    ) in capsys.readouterr().err


@pytest.mark.parametrize("size, code", [(2**20, 2), (2**11, 1)])
def test_sizes_without_weights_cost_nothing(size, code, tmp_path, capsys):
    """A dyadic decoder may have tensors of which nothing is stored; 2^24 entries are the limit."""
    folder = saved(tmp_path / "d", good_examples.digits())
    config = json.loads((folder / "config.json").read_text())
    config["decoder"] |= dict.fromkeys(["dimension", "neurons", "vocabulary"], size)
    words = {"tokens": ["x", "y", "z", *range(size - 3)], "labels": None}
    files = {p.name: p.read_bytes() for p in folder.iterdir()}
    files |= {
        "config.json": json.dumps(config).encode(),
        "vocabulary.json": json.dumps(words).encode(),
    }
    for name, content in good_examples.seal(files).items():
        (folder / name).write_bytes(content)
    assert run(folder, folder / "data.jsonl") == code
    out, err = capsys.readouterr()
    assert ("more than 2^24 parameters" in err) == (code == 2) and "5 of 5" not in out
    assert ("config.json: parameters.dense is" in out) == (code == 1)


@pytest.mark.parametrize("limit, said", [(None, "would take about"), (1000, "binary digits each")])
def test_numbers_of_millions_of_digits_are_refused(limit, said, tmp_path, monkeypatch, capsys):
    """Both within the limits of the format: 2^-(2^22) and 2^(2^22), in a row that was 0."""
    example = good_examples.digits()
    entries = good_examples.entries(good_examples.decoder_tensors(example))
    far = [[4, 1, 0, 1, -(2**22)], [4, 1, 1, 1, 2**22]]
    packed = good_examples.weights(sorted([*entries, *far]))
    files = {**good_examples.build_decoder(example), "weights.safetensors": packed}
    good_examples.write(tmp_path / "d", good_examples.seal(files))
    if limit:
        monkeypatch.setattr(check, "DIGITS_LIMIT", limit)
    assert run(tmp_path / "d", tmp_path / "d" / "data.jsonl") == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("position", range(0, 1600, 97))
def test_no_damaged_byte_makes_a_traceback(position, copy, capsys):
    folder = copy("next-word")
    for name in ("config.json", "weights.safetensors", "certificate.json", "vocabulary.json"):
        content = bytearray((folder / name).read_bytes())
        content[position % len(content)] ^= 1 << position % 7
        (folder / name).write_bytes(content)
    assert run(folder, folder / "data.jsonl") in (1, 2)
    assert "Traceback" not in capsys.readouterr().err


def test_doubles_at_the_ends_of_their_range(tmp_path):
    """Subnormal and huge weights are numbers like any others."""
    example = good_examples.heads()
    example["tensors"]["hidden.weight"][0] = [5e-324, 1e308]
    example["tensors"]["attention.query.weight"][0] = [1e300, -1e-300]
    folder = saved(tmp_path / "d", {**example, "gap": "50"})
    assert run(folder, folder / "data.jsonl") == 0
    assert struct.pack("<d", 5e-324) in (folder / "weights.safetensors").read_bytes()
