"""Folders of decoders (checker/FORMAT.md, section 9): what is saved opens, the rest is refused."""

import errno
import hashlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from safetensors.numpy import save as safetensors

import byheart
from byheart.claims.claim import Distributions, Words
from byheart.claims.record import Bits, DataSizes, Parameters, Record, Search
from byheart.claims.verification import Fit, Verification
from byheart.data.contexts import contexts
from byheart.data.load import from_rows, load
from byheart.data.targets import targets
from byheart.errors import ByheartError, DisagreementError
from byheart.exact import weights
from byheart.exact.network import Dyadic, dyadic
from byheart.machine import plain
from byheart.models.folder import write
from byheart.models.model import Model
from byheart.models.verification import verify
from byheart.softmax.codeword import encoded_bits
from byheart.softmax.decoder import ACTIVATIONS, ATTENTION, TOKEN_SUM, Decoder, Shape
from byheart.softmax.prove import targets_of, unfitting
from tests.softmax.code_words import decode, encode

ROOT = Path(__file__).parents[3]
FILES = ("config.json", "weights.safetensors", "vocabulary.json")
FOUR = (*FILES, "certificate.json")
FIT = Fit(1.5e-10, 9e-10, 5.000000001, 5.0, 0.75, 6)

WORDS = [(["a", "b"], "x"), (["a", "b"], "b"), (["b"], "a"), (["\u00e9", "b", "b"], "\U0001f600")]
NUMBERS = [([1, -2], 7), ([3], 1), ([3], 9), ([5, 5, 5], 7), ([1, -2], 7)]
MIXED = [(["a", "5"], 5), (["5"], 6), (["5", "a"], 5)]


def dyadic_tensor(sizes, random):
    """Random numbers, some of them zero and some with hundreds of digits."""
    tensor = np.empty(sizes, object)
    for place in np.ndindex(*sizes):
        digits = random.choice([0, 1, 3, 64, 65, 200])
        mantissa = random.getrandbits(digits) * random.choice([-1, 1])
        exponent = random.choice([0, 1, -1, 70, -300])
        tensor[place] = dyadic(Fraction(mantissa) * Fraction(2) ** exponent)
    return tensor


def float_tensor(sizes, seed):
    random = np.random.default_rng(seed)
    return np.where(random.random(sizes) < 0.8, random.normal(size=sizes), 0.0)


def tensors(shape, number="float64"):
    chance = random.Random(7)
    if number == "float64":
        return {name: float_tensor(k, i) for i, (name, k) in enumerate(shape.tensors.items())}
    return {name: dyadic_tensor(k, chance) for name, k in shape.tensors.items()}


def shape_for(vocabulary, length, mixing=ATTENTION, skip=False, activation="logistic"):
    heads = (2, 2, 3) if mixing == ATTENTION else (0, 0, 0)
    neurons = 0 if activation == "none" else 4
    return Shape(vocabulary, length, 3, mixing, *heads, skip, neurons, activation)


def model_of(dataset, shape, number="float64", evidence="proved"):
    """A model that says it has been verified."""
    wanted = targets(dataset, contexts(dataset, positions=True))
    words = wanted.vocabulary if shape.padding is None else (*wanted.vocabulary, PADDING)
    shape = shape._replace(vocabulary=len(words), length=dataset.length)
    if shape.padding is not None:
        shape = shape._replace(padding=len(words) - 1)
    network = Decoder(shape, tensors(shape, number))
    parameters, bits = network.counts()
    checked = len(wanted) - (evidence == "sampled")
    record = Record(
        method="by-hand",
        paper="madden2024",
        item="Theorem 5",
        options={"skip": shape.skip, "gap": None},
        data=DataSizes(
            sha256=dataset.sha256(),
            sequences=len(dataset),
            contexts=len(wanted),
            labels=len(dataset.label_names),
            length=dataset.length,
            vocabulary=len(dataset.tokens),
        ),
        parameters=Parameters(**parameters),
        bits=Bits(**bits, encoded=1, information=2.5),
        search=Search(0, 1),
        verification=Verification(checked, checked, evidence, "dense", (), FIT),
    )
    return Model(network, Words(dataset.kind, words), Distributions(1e-9), record)


CASES = {
    "words": (WORDS, shape_for(2, 1), "float64"),
    "numbers": (NUMBERS, shape_for(2, 1, skip=True, activation="gelu"), "float64"),
    "mixed": (MIXED, shape_for(2, 1, activation="erf"), "float64"),
    "token sum": (WORDS, shape_for(2, 1, TOKEN_SUM, activation="arctan"), "float64"),
    "dyadic": (NUMBERS, shape_for(2, 1, activation="tanh"), "dyadic"),
    "dyadic token sum": (MIXED, shape_for(2, 1, TOKEN_SUM), "dyadic"),
    "no neurons": (WORDS, shape_for(2, 1, skip=True, activation="none"), "float64"),
    "dyadic no neurons": (NUMBERS, shape_for(2, 1, activation="none"), "dyadic"),
    "padded": (NUMBERS, shape_for(2, 1, activation="none")._replace(padding=0), "float64"),
    "padded token sum": (MIXED, shape_for(2, 1, TOKEN_SUM)._replace(padding=0), "dyadic"),
}
PADDING = "<pad>"


def case(name, evidence="proved"):
    rows, shape, number = CASES[name]
    dataset = from_rows(rows)
    return dataset, model_of(dataset, shape, number, evidence)


@pytest.fixture
def saved(tmp_path, request):
    dataset, model = case(getattr(request, "param", "words"))
    model.save(tmp_path / "model", data=dataset)
    return tmp_path / "model"


both = pytest.mark.parametrize("saved", ["words", "token sum", "dyadic"], indirect=True)
attention = pytest.mark.parametrize("saved", ["words", "dyadic"], indirect=True)


def contents(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


def leftovers(path):
    return [name for name in os.listdir(path) if name.startswith(".")]


def outcome(path):
    """The exit code that opening this folder stands for; what is refused is so in a sentence."""
    try:
        byheart.open(path)
    except ByheartError as error:
        assert str(error).endswith(".") and "\n" not in str(error) and len(str(error)) < 400
        return 1 if isinstance(error, DisagreementError) else 2
    return 0


def put(file, content):
    """Write the file anew: to cut an old one makes ext4 wait for the disk."""
    file.unlink(missing_ok=True)
    file.write_bytes(content)


def seal(path):
    """Make the hashes of the certificate agree."""
    certificate = json.loads((path / "certificate.json").read_text())
    for name in FILES:
        certificate["files"][name] = hashlib.sha256((path / name).read_bytes()).hexdigest()
    put(path / "certificate.json", json.dumps(certificate).encode())


def change(path, name, *keys, value):
    """Put a value into a JSON file, under these keys; ... removes it."""
    content = json.loads((path / name).read_text())
    inner = content
    for key in keys[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = value
    put(path / name, json.dumps(content).encode())
    seal(path)


@pytest.fixture(scope="session")
def changed(checker_outcome):
    """A function: the exit code after such a change, the checker's as well; then it is undone."""

    def code(path, *arguments, value, stricter=False):
        before = contents(path)
        change(path, *arguments, value=value)
        found = outcome(path)
        assert found == checker_outcome(path) or (stricter and found == 2)
        for name, content in before.items():
            put(path / name, content)
        return found

    return code


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("evidence", ["proved", "sampled", "observed"])
def test_round_trip(name, evidence, tmp_path):
    dataset, model = case(name, evidence)
    model.save(tmp_path / "model", data=dataset)
    found = byheart.open(tmp_path / "model")
    assert isinstance(found.claim, Distributions)
    assert found.network == model.network and found.network.number == model.network.number
    assert (found.kind, found.tokens, found.claim.gap) == (
        model.kind,
        model.tokens,
        model.claim.gap,
    )
    assert found.record == model.record
    assert found.record.verification == model.record.verification
    assert load(tmp_path / "model" / "data.jsonl").sha256() == dataset.sha256()
    found.save(tmp_path / "again", data=dataset)
    assert contents(tmp_path / "again") == contents(tmp_path / "model")
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("method", ["one-layer", "token-averaging"])
@pytest.mark.parametrize("rows", [WORDS, NUMBERS, MIXED])
def test_a_compiled_model_survives(method, rows, tmp_path):
    dataset = from_rows(rows)
    model = byheart.compile(dataset, method=method)
    model.save(tmp_path / "model", data=dataset)
    found = byheart.open(tmp_path / "model")
    assert found.network == model.network
    assert found.record == replace(model.record, notes=(), seconds={})
    assert found.record.bits.encoded == encoded_bits(model.network)
    assert verify(found, load(tmp_path / "model" / "data.jsonl")) == model.record.verification


@pytest.mark.parametrize("saved", ["words", "token sum"], indirect=True)
def test_the_weights_are_a_state_dict(saved):
    """What safetensors itself reads, as torch would name it."""
    model, found = byheart.open(saved), load_file(saved / "weights.safetensors")
    assert found.keys() == model.network.shape.tensors.keys()
    for name, tensor in model.network.tensors.items():
        assert found[name].dtype == np.float64 and np.array_equal(found[name], tensor)


def test_a_file_that_safetensors_wrote_is_read(saved):
    file = saved / "weights.safetensors"
    before = byheart.open(saved).network
    put(file, safetensors(load_file(file)))
    seal(saved)
    assert byheart.open(saved).network == before


@pytest.mark.parametrize("saved", ["dyadic"], indirect=True)
def test_dyadic_weights_are_limbs(saved):
    assert set(load_file(saved / "weights.safetensors")) == set(weights.TYPES)


def test_the_config_is_that_of_the_format(saved):
    found = json.loads((saved / "config.json").read_text())
    assert not {"input", "output", "width", "layers"} & found.keys()
    assert found["decoder"] == {
        "kind": "string", "vocabulary": 5, "length": 3, "dimension": 3, "mixing": "attention",
        "heads": 2, "key_dimension": 2, "value_dimension": 3, "skip": False, "neurons": 4,
        "activation": "logistic",
    }  # fmt: skip
    assert json.loads((saved / "vocabulary.json").read_text())["labels"] is None
    certificate = json.loads((saved / "certificate.json").read_text())
    assert (certificate["claim"], certificate["gap"]) == ("distributions", "1e-09")
    assert certificate["divergence"] == {"mean": FIT.mean, "max": FIT.max}
    assert certificate["loss"] == {"total": FIT.loss, "entropy": FIT.entropy}


@pytest.mark.parametrize("gap", [1e-9, 0.1, 1 / 3, 1e-300, 1e300, 2.0])
def test_gaps_survive(gap, tmp_path):
    replace(case("words")[1], claim=Distributions(gap)).save(tmp_path / "m")
    assert byheart.open(tmp_path / "m").claim.gap == gap


def test_weights_are_neither_copied_to_be_written_nor_twice_to_be_read(tmp_path):
    tensor = np.arange(6.0).reshape(2, 3)
    header, view = plain.pieces({"t": tensor})
    assert np.shares_memory(np.frombuffer(view), tensor) and len(header) % 8 == 0
    (tmp_path / "w").write_bytes(header + view)
    arrays, _ = plain.read(tmp_path / "w", {"t": (2, 3)})
    assert not arrays["t"].flags.owndata and not arrays["t"].flags.writeable
    assert np.array_equal(arrays["t"], tensor)
    _, view = plain.pieces({"t": tensor.T})  # in another order: a copy, row by row
    assert bytes(view) == np.ascontiguousarray(tensor.T).tobytes()


# ---------------------------------------------------------------- the card


def card(name, evidence, tmp_path):
    case(name, evidence)[1].save(tmp_path / "m")
    return (tmp_path / "m" / "README.md").read_text("ascii")


def test_the_card_names_theorem_loss_and_commands(tmp_path):
    text = card("words", "proved", tmp_path)
    assert text.startswith("---\nlibrary_name: byheart\ntags:\n")
    sizes = "omega m + m (d + 1) + 2 m_0 (d_0 + d_1) d + (omega + T) d | 120 |"
    for part in (
        "Theorem 5", "**proved**", "at most 1e-09 nats", "1.5e-10 nats", "9e-10 nats", "0.75",
        "5.000000001 nats", "| 5 nats |", "activation logistic", sizes, "docs/plain-tensors.md",
        "byheart verify DIR DATA", "python checker/check.py DIR DATA", "byheart recall DIR",
    ):  # fmt: skip
        assert part in text, part
    assert 5 * 4 + 4 * 4 + 2 * 2 * 5 * 3 + (5 + 3) * 3 == 120


def test_an_observation_is_no_proof(tmp_path):
    text = card("words", "observed", tmp_path)
    assert "**observed**" in text and "not a proof" in text and "proved" not in text


def test_a_sample_stays_a_sample(tmp_path):
    text = card("numbers", "sampled", tmp_path)
    assert "**sampled**" in text and "not examined" in text and "proved" not in text
    assert "their entropy of the sample" in text


def test_the_card_of_long_weights_does_not_promise_a_state_dict(tmp_path):
    text = card("dyadic", "proved", tmp_path)
    assert "state dict" not in text and "checker/FORMAT.md" in text


# ---------------------------------------------------------------- what must not be saved


def test_what_is_not_verified_is_not_saved(tmp_path):
    _, model = case("words")
    proved = model.record.verification
    for found in (
        None,
        replace(proved, evidence="refuted"),
        replace(proved, evidence=None),
        replace(proved, evidence="sampled"),
        replace(proved, checked=2, correct=2),
        replace(proved, evidence="observed", checked=2, correct=2),
        replace(proved, evidence="sampled", checked=2, correct=1),
        replace(proved, evidence="sampled", checked=0, correct=0),
    ):
        with pytest.raises(ByheartError, match="not saved"):
            replace(model, record=replace(model.record, verification=found)).save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def with_tensor(model, name, place, value):
    tensor = model.network.tensors[name].copy()
    tensor[place] = value
    return replace(
        model, network=replace(model.network, tensors={**model.network.tensors, name: tensor})
    )


def test_a_model_that_would_not_open_is_not_saved(tmp_path):
    _, model = case("words")
    wrong_count = replace(model.record, parameters=model.record.parameters._replace(nonzero=1))
    shape = model.network.shape._replace(activation="relu")
    padded = [model.network.shape._replace(padding=padding) for padding in (-1, 5, 1.0, True)]
    for broken in (
        replace(model, record=wrong_count),
        replace(model, record=replace(model.record, loading={"x": math.inf})),
        replace(model, record=replace(model.record, loading={"x": object()})),
        replace(model, words=Words("string", ("a", "b", "x", "y"))),
        replace(model, words=Words("string", ("a", "a", "b", "x", "y"))),
        replace(model, claim=Distributions(0.0)),
        replace(model, claim=Distributions(math.inf)),
        replace(model, claim=Distributions(math.nan)),
        replace(model, words=Words("vector", model.tokens)),
        replace(model, network=replace(model.network, shape=shape)),
        *(replace(model, network=replace(model.network, shape=shape)) for shape in padded),
        *(with_tensor(model, "hidden.bias", 1, x) for x in (math.nan, math.inf)),
        with_tensor(case("dyadic")[1], "hidden.bias", 1, Dyadic(4, 0)),
        with_tensor(case("dyadic")[1], "hidden.bias", 1, Dyadic(1, 2**22 + 1)),
    ):
        with pytest.raises(ByheartError):
            broken.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_zeros_lose_their_sign(tmp_path):
    """A builder may well compute -0.0, which is the number 0."""
    model = with_tensor(case("words")[1], "hidden.bias", 1, -0.0)
    parameters, bits = model.network.counts()
    record = replace(model.record, parameters=Parameters(**parameters), bits=Bits(**bits))
    replace(model, record=record).save(tmp_path / "m")
    found = byheart.open(tmp_path / "m").network["hidden.bias"][1]
    assert found == 0 and not np.signbit(found)


def test_other_data_is_not_put_beside_the_weights(tmp_path):
    with pytest.raises(ByheartError, match="not what the model was verified on"):
        case("words")[1].save(tmp_path / "m", data=case("numbers")[0])
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------- places


def test_force_replaces_a_model_and_nothing_else(saved, tmp_path):
    _, model = case("dyadic")
    before = contents(saved)
    with pytest.raises(ByheartError, match="exists"):
        model.save(saved)
    (tmp_path / "link").symlink_to(saved)
    with pytest.raises(ByheartError, match="not replaced"):
        model.save(tmp_path / "link", force=True)
    assert contents(saved) == before
    model.save(saved, force=True)
    assert byheart.open(saved).number == "dyadic" and "data.jsonl" not in contents(saved)
    exact = byheart.compile(from_rows([(["a"], "x"), (["b"], "y")]))
    exact.save(saved, force=True)
    assert byheart.open(saved).recall(["b"]) == "y"
    model.save(saved, force=True)
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(ByheartError, match="notes.txt"):
        model.save(saved, force=True)
    assert not leftovers(tmp_path)


class Full:
    """A file on a disk that gets full at the given piece."""

    def __init__(self, file, pieces):
        self.file, self.pieces = file, pieces

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, content):
        self.pieces -= 1
        if self.pieces < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.file.write(content)


@pytest.mark.parametrize("piece", [0, 1, 5])
def test_the_old_model_survives_a_full_disk(piece, saved, monkeypatch):
    before = contents(saved)

    def opened(path, mode):
        file = open(path, mode)
        return Full(file, piece) if path.name == "weights.safetensors" else file

    monkeypatch.setattr(write, "open", opened, raising=False)
    with pytest.raises(ByheartError, match="model cannot be written: No space left"):
        case("numbers")[1].save(saved, force=True)
    assert contents(saved) == before and not leftovers(saved.parent)


LOOP = """
import sys
import byheart
models = [byheart.open(path) for path in sys.argv[2:]]
print("ready", flush=True)
while True:
    for model in models:
        model.save(sys.argv[1], force=True)
"""


def test_a_killed_save_leaves_the_old_or_the_new_model(tmp_path):
    chance, names = random.Random(5), ["words", "dyadic"]
    for name in names:
        case(name)[1].save(tmp_path / name)
    wanted = [contents(tmp_path / name) for name in names]
    target, seen = tmp_path / "place" / "model", set()
    target.parent.mkdir()
    case("words")[1].save(target)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LOOP, target, *(tmp_path / name for name in names)]
    for _ in range(4):
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout.readline() == b"ready\n"
            while len(seen) < 2:  # while it is being replaced, however slowly
                seen.add(byheart.open(target).number)
            end = time.monotonic() + chance.uniform(0.1, 0.3)
            while time.monotonic() < end:
                seen.add(byheart.open(target).number)
            process.send_signal(signal.SIGKILL)
        assert contents(target) in wanted
        for name in leftovers(target.parent):
            with pytest.raises(ByheartError, match="interrupted save"):
                byheart.open(target.parent / name)
    assert seen == {"float64", "dyadic"}


# ---------------------------------------------------------------- strangers: config.json

BAD_SIZES = (0, -1, 2**20 + 1, 2**40, 2**70, True, 3.0, "3", None, ...)
SIZES = ("vocabulary", "length", "dimension", "neurons")
HEADS = ("heads", "key_dimension", "value_dimension")


@attention
@pytest.mark.parametrize("name", [*SIZES, *HEADS])
def test_sizes_are_refused_before_anything_is_made(saved, name, changed):
    for size in (*BAD_SIZES, *([1] if name == "vocabulary" else [])):
        assert changed(saved, "config.json", "decoder", name, value=size) == 2, size


@both
def test_sizes_that_the_weights_do_not_have(saved, changed):
    """Up to the largest: a tensor of 2^40 numbers must not be made to find that out."""
    config = json.loads((saved / "config.json").read_text())
    given, expected = config["decoder"], (1, 2) if config["number"] == "dyadic" else (2,)
    for name in SIZES:
        for size in (given[name] + 1, given[name] - 1, 2**20):
            found = changed(saved, "config.json", "decoder", name, value=size, stricter=True)
            assert found in expected
    everything = {**given, **dict.fromkeys(SIZES, 2**20)}
    assert changed(saved, "config.json", "decoder", value=everything, stricter=True) == 2


@attention
def test_heads_together_are_limited(saved, changed):
    for sizes in ((2**10 + 1, 2**10, 1), (2**10 + 1, 1, 2**10), (2**20, 2**20, 2**20)):
        given = json.loads((saved / "config.json").read_text())["decoder"]
        given |= dict(zip(HEADS, sizes, strict=True))
        assert changed(saved, "config.json", "decoder", value=given) == 2
        change(saved, "config.json", "decoder", value=given)
        with pytest.raises(ByheartError, match="heads together"):
            byheart.open(saved)


def test_a_dyadic_decoder_is_limited_by_its_zeros(tmp_path):
    """A file of a few bytes must not make a tensor of gigabytes."""
    case("dyadic")[1].save(tmp_path / "m")
    before = json.loads((tmp_path / "m" / "config.json").read_text())["decoder"]
    large = {**before, "neurons": 2**20, "dimension": 2**10}
    change(tmp_path / "m", "config.json", "decoder", value=large)
    with pytest.raises(ByheartError, match="at most 2.24 parameters"):
        byheart.open(tmp_path / "m")


@pytest.mark.parametrize("saved", ["token sum", "dyadic token sum"], indirect=True)
def test_a_token_sum_has_no_heads(saved, changed):
    for name in HEADS:
        for size in (1, -1, None, False, 0.0, ...):
            assert changed(saved, "config.json", "decoder", name, value=size) == 2
    assert changed(saved, "config.json", "decoder", "skip", value=True) == 2


@pytest.mark.parametrize("saved", ["no neurons", "dyadic no neurons"], indirect=True)
def test_no_neurons_and_no_activation_belong_together(saved, changed):
    given = json.loads((saved / "config.json").read_text())["decoder"]
    assert (given["neurons"], given["activation"]) == (0, "none")
    for name, values in (
        ("neurons", (1, 4, -1, False, 0.0, None, ...)),
        ("activation", ("tanh", "None", "", None, ...)),
    ):
        for value in values:
            assert changed(saved, "config.json", "decoder", name, value=value) == 2, value
    total = {"mixing": TOKEN_SUM, "skip": False, **dict.fromkeys(HEADS, 0)}
    assert changed(saved, "config.json", "decoder", value={**given, **total}) == 2


@both
def test_neurons_need_an_activation(saved, changed):
    assert changed(saved, "config.json", "decoder", "activation", value="none") == 2
    assert changed(saved, "config.json", "decoder", "neurons", value=0) == 2


@pytest.mark.parametrize("saved", ["words", "padded", "padded token sum"], indirect=True)
def test_padding_is_a_token_or_nothing(saved, changed):
    given = json.loads((saved / "config.json").read_text())["decoder"]
    for padding in (0, given["vocabulary"] - 1, None, ...):
        if padding is not ... or "padding" in given:
            assert changed(saved, "config.json", "decoder", "padding", value=padding) == 0
    for padding in (-1, given["vocabulary"], 2**70, True, 1.0, "<pad>", [0]):
        assert changed(saved, "config.json", "decoder", "padding", value=padding) == 2, padding


def test_padding_is_no_word():
    """Neither a question nor data may hold it; the model puts it before shorter contexts."""
    dataset = from_rows([(["a", "b"], "a"), (["b"], "b")])
    shape = shape_for(3, 2, activation="none")._replace(padding=0)
    model = model_of(dataset, shape)
    assert model.tokens == ("a", "b", PADDING)
    assert model.numbers(["b"]) == [2, 1] and model.numbers(["a", "b"]) == [0, 1]
    assert model.numbers([PADDING, "b"]) is None and model.recall([PADDING, "b"]) is None
    assert targets_of(model, dataset).tokens.tolist() == [0, 1, 2, 1]
    for rows in ([([PADDING, "b"], "a")], [(["b"], PADDING)]):
        assert "not in the model's vocabulary" in unfitting(model, from_rows(rows))
        with pytest.raises(ByheartError, match="not in the model's vocabulary"):
            verify(model, from_rows(rows))


@both
def test_words_that_the_format_does_not_know(saved, changed):
    cases = {
        "kind": ("vector", "", None, 3, ...),
        "mixing": ("hard_attention", "sum", None, ...),
        "activation": ("relu", "Logistic", "sigmoid", None, ["tanh"], ...),
        "skip": (0, 1, None, "false", ...),
    }
    for name, values in cases.items():
        for value in values:
            assert changed(saved, "config.json", "decoder", name, value=value) == 2, value
    for value in ({}, [], None, 3):
        assert changed(saved, "config.json", "decoder", value=value) == 2
    for name in ("input", "output", "width", "layers"):
        assert changed(saved, "config.json", name, value=None) == 2
    for name, value in (("format", "x"), ("version", 3), ("number", "float32"), ("number", ...)):
        assert changed(saved, "config.json", name, value=value) == 2
    assert changed(saved, "config.json", "decoder", "extra", value=3) == 0  # ignored


def test_the_mixing_and_the_number_are_those_of_the_weights(tmp_path, changed):
    for name, number in (("words", "dyadic"), ("dyadic", "float64")):
        case(name)[1].save(tmp_path / name)
        assert changed(tmp_path / name, "config.json", "number", value=number) == 2
        other = {"mixing": "token_sum", "skip": False, **dict.fromkeys(HEADS, 0)}
        settings = json.loads((tmp_path / name / "config.json").read_text())["decoder"] | other
        assert changed(tmp_path / name, "config.json", "decoder", value=settings) in (1, 2)


@pytest.mark.parametrize("activation", [name for name in ACTIVATIONS if name != "logistic"])
def test_the_activation_is_guarded_by_its_hash_only(saved, activation):
    """Another function of the same shape opens once the hashes agree: verify is what tells."""
    before = (saved / "certificate.json").read_bytes()
    change(saved, "config.json", "decoder", "activation", value=activation)
    assert outcome(saved) == 0
    (saved / "certificate.json").write_bytes(before)
    assert outcome(saved) == 1


@both
def test_counts_are_counted_again(saved, changed):
    for group, name in (
        *(("parameters", name) for name in ("nonzero", "dense", "counted", "outside")),
        *(("bits", name) for name in ("total", "fixed", "largest")),
    ):
        given = json.loads((saved / "config.json").read_text())[group][name]
        assert changed(saved, "config.json", group, name, value=given + 1) == 1
        assert changed(saved, "config.json", group, name, value=float(given)) == 2
        assert changed(saved, "config.json", group, name, value=...) == 2


# ---------------------------------------------------------------- strangers: the vocabulary


@both
def test_the_vocabulary_is_one_of_distinct_words(saved, changed):
    tokens = json.loads((saved / "vocabulary.json").read_text())["tokens"]
    for wrong in (
        [tokens[0], *tokens[:-1]],
        tokens[:-1],
        [*tokens, "more"],
        [],
        None,
        {},
        *([value, *tokens[1:]] for value in (True, 1.0, None, [], ["a"])),
        ...,
    ):
        assert changed(saved, "vocabulary.json", "tokens", value=wrong) == 2, wrong
    for wrong in ([], tokens, 0, False, ...):
        assert changed(saved, "vocabulary.json", "labels", value=wrong) == 2, wrong
    assert changed(saved, "vocabulary.json", "tokens", value=tokens[::-1]) == 0  # any order
    assert changed(saved, "vocabulary.json", "tokens", value=["1", 1, *tokens[2:]]) == 0


# ---------------------------------------------------------------- strangers: the certificate

BAD_GAPS = (
    *(
        "0",
        "0.0",
        "0e5",
        "-1e-9",
        "+1e-9",
        "",
        " 1e-9",
        "1e-9 ",
        "1e-9\n",
        "nan",
        "inf",
        "Infinity",
    ),
    *(
        "1e-301",
        "2e300",
        "1e9999999",
        "1E-9",
        "1_0",
        "0x1p-3",
        "1/3",
        ".5",
        "5.",
        "\u0661",
        "1,5",
        "1" * 400,
    ),
    *(1e-9, 1, None, True, ["1e-9"], ...),
)


def test_wrong_gaps(saved, changed):
    for gap in BAD_GAPS:
        assert changed(saved, "certificate.json", "gap", value=gap) == 2, gap
    for gap in ("1e-9", "0.000000001", "1e-009", "3", "2.5", "1e+3"):
        change(saved, "certificate.json", "gap", value=gap)
        assert byheart.open(saved).claim.gap == float(gap)


@both
def test_claims_that_no_certificate_makes(saved, changed):
    contexts = json.loads((saved / "config.json").read_text())["data"]["contexts"]
    assert contexts == 3
    for checked, correct, evidence, expected in (
        (3, 3, "proved", 0), (3, 3, "observed", 0), (2, 2, "sampled", 0), (1, 1, "sampled", 0),
        (3, 3, "sampled", 1), (2, 2, "proved", 1), (4, 4, "proved", 1), (2, 2, "observed", 1),
        (0, 0, "sampled", 1), (2, 1, "sampled", 1), (3, 2, "proved", 1), (3, 3, "refuted", 1),
        (-1, -1, "sampled", 1), (3, 3, "Proved", 1), (3, 3, None, 2), (3.0, 3, "proved", 2),
        (3, True, "proved", 2), (3, 3, ["proved"], 2),
    ):  # fmt: skip
        given = {"checked": checked, "correct": correct, "evidence": evidence, "engine": "dense"}
        assert changed(saved, "certificate.json", "verified", value=given) == expected, given


@both
def test_claims_about_other_things(saved, changed):
    for claim in ("labels", "distribution", "", None, 1, ...):
        assert changed(saved, "certificate.json", "claim", value=claim) == 2
    assert changed(saved, "config.json", "data", "contexts", value=4) == 1
    for wrong in (2.0, "3", None, ...):
        assert changed(saved, "config.json", "data", "contexts", value=wrong) == 2
    assert changed(saved, "config.json", "data", "sequences", value=99) == 1
    assert changed(saved, "config.json", "data", "sha256", value="0" * 64) == 1
    assert changed(saved, "certificate.json", "data", "sha256", value="0" * 64) == 1


def test_an_exact_network_claims_no_distributions(tmp_path, changed):
    byheart.compile(from_rows([(["a"], "x"), (["b"], "y")])).save(tmp_path / "m")
    assert changed(tmp_path / "m", "certificate.json", "claim", value="distributions") == 2
    assert changed(tmp_path / "m", "config.json", "decoder", value={}) == 2


def test_what_is_said_for_people(saved, changed):
    for name in ("divergence", "loss", "accuracy", "predictions"):
        change(saved, "certificate.json", name, value=...)
        fit = byheart.open(saved).record.verification.fit
        assert fit is None  # three of four make no fit
    case("words")[1].save(saved, force=True)
    change(saved, "certificate.json", "predictions", value=...)
    assert byheart.open(saved).record.verification.fit == FIT._replace(predictions=None)
    for keys, value in (
        (("divergence",), 3), (("divergence", "mean"), "0"), (("divergence", "max"), ...),
        (("loss", "total"), None), (("loss", "entropy"), True), (("accuracy",), []),
        (("accuracy",), 10**400), (("predictions",), 1.5),
    ):  # fmt: skip
        assert changed(saved, "certificate.json", *keys, value=value) == 0, keys
    text = (saved / "certificate.json").read_text()
    for number, code in (("1e999", 0), ("NaN", 2), ("Infinity", 2)):
        (saved / "certificate.json").write_text(
            text.replace('"accuracy": 0.75', f'"accuracy": {number}')
        )
        assert outcome(saved) == code
    (saved / "certificate.json").write_text(text.replace('"accuracy": 0.75', '"accuracy": 1'))
    assert byheart.open(saved).record.verification.fit.accuracy == 1.0


# ---------------------------------------------------------------- strangers: the weights


@both
def test_truncated_and_longer_weights(saved, checker_outcome):
    file = saved / "weights.safetensors"
    content = file.read_bytes()
    for wrong in (
        content[:-1],
        content[:-8],
        content[:7],
        b"",
        content + b"\0",
        content + bytes(8),
    ):
        put(file, wrong)
        seal(saved)
        assert outcome(saved) == checker_outcome(saved) == 2
    file.write_bytes(content)
    os.truncate(file, 2**43)  # sparse: refused by its header, unread
    assert outcome(saved) == 2


@pytest.mark.parametrize("saved", ["words", "token sum"], indirect=True)
def test_plain_tensors_of_other_shapes_and_values(saved, checker_outcome):
    file = saved / "weights.safetensors"
    arrays = load_file(file)
    for name, array in arrays.items():
        for wrong in (array[..., None], array.astype(np.float32), array[:-1], array[None]):
            put(file, safetensors({**arrays, name: np.ascontiguousarray(wrong)}))
            seal(saved)
            assert outcome(saved) == checker_outcome(saved) == 2, name
        for value, expected in ((np.nan, 2), (np.inf, 2), (-np.inf, 2), (-0.0, 2), (0.1, 1)):
            new = array.copy()
            new.flat[-1] = value
            put(file, safetensors({**arrays, name: new}))
            seal(saved)
            assert outcome(saved) == checker_outcome(saved) == expected, (name, value)
        fewer = {key: value for key, value in arrays.items() if key != name}
        for wrong in (fewer, {**arrays, "more": array}, {**fewer, name + "s": array}):
            put(file, safetensors(wrong))
            seal(saved)
            assert outcome(saved) == checker_outcome(saved) == 2
    transposed = np.ascontiguousarray(arrays["output.weight"].T)
    put(file, safetensors({**arrays, "output.weight": transposed}))
    seal(saved)
    assert outcome(saved) == 2


@pytest.mark.parametrize("saved", ["dyadic", "dyadic token sum"], indirect=True)
def test_changed_limbs(saved, checker_outcome):
    file, chance, seen = saved / "weights.safetensors", random.Random(1), set()
    arrays = load_file(file)
    for name, array in arrays.items():
        for _ in range(12):
            new = array.copy()
            new[chance.randrange(len(new))] = chance.choice([0, 1, 2, 3, 5, 100])
            if np.array_equal(new, array):
                continue
            put(file, safetensors({**arrays, name: new}))
            assert outcome(saved) in (1, 2)
            seal(saved)
            seen.add((name, outcome(saved)))
            assert outcome(saved) == checker_outcome(saved)
    assert {("limbs", 2), ("limbs", 1), ("row", 2), ("negative", 2), ("exponent", 1)} <= seen
    assert ("negative", 0) in seen  # a sign is in no count


def test_vectors_are_one_column(saved, tmp_path):
    _, model = case("dyadic")
    model.save(tmp_path / "m")
    arrays = load_file(tmp_path / "m" / "weights.safetensors")
    place = list(model.network.shape.tensors).index("hidden.bias")
    assert (arrays["column"][arrays["tensor"] == place] == 0).all()
    nonzero = [i for i, value in enumerate(model.network["hidden.bias"]) if value.mantissa]
    assert arrays["row"][arrays["tensor"] == place].tolist() == nonzero


# ---------------------------------------------------------------- strangers: files


def test_links_pipes_and_folders_are_no_files(saved, tmp_path):
    for name in FOUR:
        content = (saved / name).read_bytes()
        (tmp_path / "elsewhere").write_bytes(content)
        for make in (
            lambda file: file.symlink_to(tmp_path / "elsewhere"),
            lambda file: os.mkfifo(file),
            lambda file: file.mkdir(),
        ):
            (saved / name).unlink(missing_ok=True)
            make(saved / name)
            assert outcome(saved) == 2
            (saved / name).rmdir() if (saved / name).is_dir() else (saved / name).unlink()
        assert outcome(saved) == 2  # missing
        (saved / name).write_bytes(content)
    assert outcome(saved) == 0


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Models with the files of their folders, and a place."""
    place = tmp_path_factory.mktemp("kept")
    found = {}
    for name in ("words", "dyadic token sum"):
        _, model = case(name)
        model.save(place / name)
        found[name] = model, contents(place / name)
    return found, place / "damaged"


@settings(max_examples=200)
@given(data=st.data())
def test_one_byte_changes_nothing_unseen(kept, data):
    """It is refused, or disagrees; only what is for people may open."""
    model, files = kept[0][data.draw(st.sampled_from(sorted(kept[0])))]
    path = kept[1]
    path.mkdir(exist_ok=True)
    file = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[file])
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    for name, whole in files.items():
        put(path / name, content if name == file else whole)
    found = outcome(path)
    if file == "README.md":
        assert found == 0
    elif file != "certificate.json":
        assert found in (1, 2)
    elif found == 0:  # the engine's name, the fit, the gap, the evidence: a claim, not a function
        opened = byheart.open(path)
        assert opened.network == model.network and opened.tokens == model.tokens
        verified = opened.record.verification
        assert opened.record == replace(model.record, verification=verified)


# ---------------------------------------------------------------- counts and the code word


def by_hand(decoder):
    """The counts, number by number, in Dyadic arithmetic."""
    values = [x for tensor in decoder.tensors.values() for x in tensor.ravel().tolist()]
    numbers = [x if isinstance(x, Dyadic) else dyadic(x) for x in values]
    numbers = [number for number in numbers if number.mantissa]
    fixed = [number.fixed_bits for number in numbers]
    return (
        {"nonzero": len(numbers), "dense": len(values), "counted": len(values), "outside": 0},
        {
            "total": sum(number.coded_bits for number in numbers),
            "fixed": sum(fixed),
            "largest": max(fixed, default=0),
        },
    )


doubles = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**60), 2**60).map(float),
    st.sampled_from([0.0, 1.0, -(2.0**1023), 5e-324, 2.0**-1074 * 3, 2.0**53, 0.5, 1 - 2.0**-53]),
).map(lambda x: x + 0.0)
dyadics = st.builds(
    lambda m, e: dyadic(Fraction(m) * Fraction(2) ** e),
    st.one_of(st.integers(-9, 9), st.integers(-(2**90), 2**90)),
    st.integers(-200, 200),
)


@st.composite
def decoders(draw):
    size = st.integers(1, 3)
    mixing = draw(st.sampled_from([ATTENTION, TOKEN_SUM]))
    attention = mixing == ATTENTION
    heads = [draw(size) if attention else 0 for _ in range(3)]
    shape = Shape(
        draw(st.integers(2, 4)), draw(size), draw(size), mixing, *heads,
        attention and draw(st.booleans()), draw(size), draw(st.sampled_from(ACTIVATIONS)),
        draw(st.sampled_from([None, 0, 1])),
    )  # fmt: skip
    if draw(st.booleans()):
        shape = shape._replace(neurons=0, activation="none")
    numbers = draw(st.sampled_from([doubles, dyadics]))
    pool = [*draw(st.lists(numbers, min_size=1, max_size=6)), draw(numbers)]
    chance = draw(st.randoms(use_true_random=False))
    filled = {}
    for name, sizes in shape.tensors.items():
        filled[name] = np.empty(sizes, object if numbers is dyadics else np.float64)
        for place in np.ndindex(*sizes):
            filled[name][place] = chance.choice(pool)
    return Decoder(shape, filled)


@given(decoders())
def test_counts_are_those_of_dyadic_arithmetic(decoder):
    assert decoder.counts() == by_hand(decoder)


@pytest.mark.parametrize("block", [1, 3, 7])
def test_counts_of_more_than_one_block(block, monkeypatch):
    monkeypatch.setattr("byheart.softmax.decoder.BLOCK", block)
    for name in ("words", "token sum"):
        decoder = case(name)[1].network
        assert decoder.counts() == by_hand(decoder)


@given(decoders())
def test_code_words_are_read_back(decoder):
    word = encode(decoder)
    assert decode(word) == decoder
    assert len(word) == -(-encoded_bits(decoder) // 8)


def test_a_code_word_by_hand():
    shape = Shape(2, 1, 1, TOKEN_SUM, 0, 0, 0, False, 1, "tanh")
    numbers = [[1, 0], [-3], [5], [0], [0, 1]]
    filled = {}
    for (name, sizes), values in zip(shape.tensors.items(), numbers, strict=True):
        filled[name] = np.empty(len(values), object)
        for i, value in enumerate(values):
            filled[name][i] = dyadic(value / 2)
        filled[name] = filled[name].reshape(sizes)
    word = "".join([
        "10", "011", "010", "010", "010", "010", "1",  # dyadic, sum, 2, 1, 1, 1 neuron, tanh, no
        "10", "0", "1", "011",  # 1 0: plus, one digit, none between, exponent -1 is number 2
        "1", "1", "010", "011",  # -3: minus, two digits
        "1", "0", "011", "0", "011",  # 5: plus, three digits, 0 between
        "0",
        "01", "0", "1", "011",
    ])  # fmt: skip
    decoder = Decoder(shape, filled)
    assert encoded_bits(decoder) == len(word)
    padded = word.ljust(-(-len(word) // 8) * 8, "0")
    assert encode(decoder) == int(padded, 2).to_bytes(len(padded) // 8, "big")


@given(decoders(), st.data())
def test_other_words_are_refused_or_other_decoders(decoder, data):
    """A code word is canonical: no two are one decoder, and none begins another."""
    word = encode(decoder)
    for wrong in (word[:-1], word + b"\0", word + b"\1", b""):
        with pytest.raises(ByheartError, match="not the encoding"):
            decode(wrong)
    place = data.draw(st.integers(0, 8 * len(word) - 1))
    flipped = bytes(x ^ (128 >> place % 8 if i == place // 8 else 0) for i, x in enumerate(word))
    try:
        found = decode(flipped)
    except ByheartError:
        return
    assert found != decoder and encode(found) == flipped


def test_code_words_of_absurd_sizes_are_refused_at_once():
    def number(n):
        return "0" * ((n + 1).bit_length() - 1) + f"{n + 1:b}"

    for vocabulary, neurons in ((2**20, 2**20), (2**23, 1), (1, 1)):
        head = "00" + "".join(map(number, (vocabulary, 1, 1, neurons, 0)))
        bits = head.ljust(400, "0")
        with pytest.raises(ByheartError, match="not the encoding"):
            decode(int(bits, 2).to_bytes(50, "big"))
    with pytest.raises(ByheartError, match="absurdly"):
        decode(bytes(50))


def test_what_has_no_code_word():
    _, model = case("words")
    for broken in (
        with_tensor(model, "hidden.bias", 0, math.nan),
        with_tensor(case("dyadic")[1], "hidden.bias", 0, Dyadic(2, 0)),
        with_tensor(case("dyadic")[1], "hidden.bias", 0, Dyadic(1, 2**22 + 1)),
    ):
        with pytest.raises(ByheartError):
            encode(broken.network)
    shape = Shape(1, 1, 1, TOKEN_SUM, 0, 0, 0, False, 1, "tanh")
    with pytest.raises(ByheartError, match="sizes"):
        encode(Decoder(shape, tensors(shape)))


def test_one_word_is_no_choice(saved):
    change(saved, "config.json", "decoder", "vocabulary", value=1)
    with pytest.raises(ByheartError, match="2 tokens or more"):
        byheart.open(saved)
