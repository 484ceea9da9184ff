"""Every construction that stores distributions keeps every law; judged by the checker."""

import hashlib
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import byheart
from byheart.constructions import ALL
from byheart.data.load import from_rows, write_jsonl
from byheart.exact.network import Dyadic, dyadic
from byheart.models.verification import verify
from byheart.softmax.codeword import encoded_bits
from byheart.softmax.decoder import Decoder
from byheart.softmax.store import weights
from tests.softmax.code_words import decode, encode

# orders of one multiset, a duplicate, contexts with two and three labels, labels that are no tokens
WORDS = [
    (["a", "b", "c"], "x"),
    (["b", "a", "c"], "x"),
    (["a", "c", "b"], "b"),
    (["a", "a", "b"], "z"),
    (["a"], "x"),
    (["a"], "b"),
    (["a"], "b"),
    (["c", "c"], "z"),
    (["c", "c"], "z"),
    (["c", "c"], "y"),
    (["c", "c"], "a"),
    (["d", "a"], "y"),
]
IDS = [([1, 2], 4), ([2, 1], 5), ([0, 0, 7], 4), ([0], 6), ([3], 5)]
# the same words with the first label of each context
ONE_LABEL = [([*tokens], label) for tokens, label in {tuple(t): y for t, y in WORDS[::-1]}.items()]
DATA = {"words": WORDS, "ids": IDS, "words with one label": ONE_LABEL}
STORES = [c for c in ALL if c.claim.name == "distributions"]


def words_of(construction):
    """The words that a construction stores: attention-only-argmax refuses two labels (A1)."""
    return "words with one label" if construction.name == "attention-only-argmax" else "words"


each = pytest.mark.parametrize("construction", STORES, ids=lambda c: c.name)
each_with_data = pytest.mark.parametrize(
    ("construction", "data"),
    [pytest.param(c, data, id=f"{c.name}-{data}") for c in STORES for data in (words_of(c), "ids")],
)


@cache
def compiled(name, data):
    dataset = from_rows(DATA[data])
    return dataset, byheart.compile(dataset, method=name)


@pytest.fixture
def saved(tmp_path):
    def save(construction, data):
        dataset, model = compiled(construction.name, data)
        model.save(tmp_path / "model", data=dataset)
        return tmp_path / "model", tmp_path / "model" / "data.jsonl"

    return save


def test_there_are_eight():
    assert [c.name for c in STORES] == [
        "one-layer",
        "token-averaging",
        "one-layer-smooth",
        "one-layer-narrow",
        "one-layer-literal",
        "attention-only",
        "attention-only-approximate",
        "attention-only-argmax",
    ]


@each_with_data
def test_memorises(construction, data):
    """Every context's distribution, within the gap, proved; the checker agrees."""
    dataset, model = compiled(construction.name, data)
    verified = model.record.verification
    assert verified.evidence == "proved"
    assert verified.checked == verified.correct == model.record.data.contexts
    assert verified.fit.max <= model.claim.gap
    assert verify(model, dataset) == verified


@each_with_data
def test_recall_says_what_follows(construction, data):
    dataset, model = compiled(construction.name, data)
    for i in range(len(dataset)):
        assert dict(model.answers([dataset.sequence(i)])[0].probabilities)[dataset.label(i)] > 0.2


@each_with_data
def test_the_checker_accepts(construction, data, saved, checker):
    assert checker.failures(*saved(construction, data)) == []


@each_with_data
def test_the_checker_rejects_a_changed_label(construction, data, saved, tmp_path, checker):
    (tokens, label), *rows = DATA[data]
    other = next(x for _, x in rows if x != label)
    folder, _ = saved(construction, data)
    wrong = tmp_path / "wrong.jsonl"
    write_jsonl(from_rows([(tokens, other), *rows]), wrong)
    found = " ".join(checker.failures(folder, wrong))
    assert "divergence" in found or "context" in found  # not only the hash of the data


@pytest.mark.parametrize(
    "construction", [c for c in STORES if words_of(c) == "words"], ids=lambda c: c.name
)
def test_the_checker_rejects_another_count(construction, saved, tmp_path, checker):
    """Of one of a context's labels; where there is one label only, counts say nothing."""
    folder, rows = saved(construction, "words")
    lines = rows.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if '"input": ["a"]' in line)
    lines[place] = json.dumps({**json.loads(lines[place]), "count": 7})
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("\n".join(lines))
    found = checker.failures(folder, wrong)
    assert any("divergence" in sentence for sentence in found), found


@each_with_data
def test_a_changed_weight_is_noticed(construction, data, saved, checker):
    """The folder is made consistent again: hashes and counts agree, only the function is wrong."""
    dataset, model = compiled(construction.name, data)
    folder, rows = saved(construction, data)
    network = _harmed(model.network)
    changed = replace(model, network=network)
    assert verify(changed, dataset).evidence == "refuted"
    _rewrite(folder, changed)
    found = checker.failures(folder, rows)
    assert found and all("divergence" in sentence for sentence in found), found
    assert byheart.open(folder).network == network  # it opens; verify refutes it


def _harmed(network):
    """The decoder with its largest output weight one eighth larger.

    Without neurons labels have margins that bear it: all output weights change their signs.
    """
    output = network["output"].copy()
    if not network.shape.neurons:
        output = 0.0 - output
    elif network.number == "dyadic":
        sizes = [abs(value.fraction) for value in output.ravel()]
        place = np.unravel_index(sizes.index(max(sizes)), output.shape)
        output[place] = dyadic(-output[place].fraction)
    else:
        place = np.unravel_index(abs(output).argmax(), output.shape)
        output[place] *= -1
    return Decoder(network.shape, {**network.tensors, "output.weight": output})


def _rewrite(folder, model):
    (folder / "weights.safetensors").write_bytes(b"".join(weights(model)))
    settings = json.loads((folder / "config.json").read_text())
    parameters, bits = model.network.counts()
    settings["parameters"].update(parameters)
    settings["bits"].update(bits, encoded=encoded_bits(model.network))
    (folder / "config.json").write_text(json.dumps(settings))
    certificate = json.loads((folder / "certificate.json").read_text())
    for name in certificate["files"]:
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        certificate["files"][name] = digest
    (folder / "certificate.json").write_text(json.dumps(certificate))


@each_with_data
def test_counts_are_the_recomputed_ones(construction, data, saved):
    dataset, model = compiled(construction.name, data)
    settings = json.loads((saved(construction, data)[0] / "config.json").read_text())
    values = [
        value if isinstance(value, Dyadic) else dyadic(float(value))
        for tensor in model.network.tensors.values()
        for value in tensor.ravel()
    ]
    values = [value for value in values if value.mantissa]
    shape = model.network.shape
    parameters, bits = settings["parameters"], settings["bits"]
    assert parameters["nonzero"] == len(values)
    assert parameters["dense"] == parameters["counted"] == shape.parameters
    assert bits["total"] == sum(value.coded_bits for value in values)
    assert bits["fixed"] == sum(value.fixed_bits for value in values)
    assert bits["encoded"] == encoded_bits(model.network)
    assert settings["data"]["sha256"] == dataset.sha256()


@each_with_data
def test_certificate_survives(construction, data, saved):
    dataset, model = compiled(construction.name, data)
    opened = byheart.open(saved(construction, data)[0])
    assert opened.record.verification == model.record.verification
    assert opened.network == model.network
    assert (opened.tokens, opened.claim.gap) == (model.tokens, model.claim.gap)
    assert verify(opened, dataset).evidence == "proved"


@each_with_data
def test_code_word_survives(construction, data):
    network = compiled(construction.name, data)[1].network
    assert decode(encode(network)) == network


@each
def test_the_seed_decides(construction):
    def built(seed):
        rows = DATA[words_of(construction)]
        return byheart.compile(from_rows(rows), method=construction.name, seed=seed).network

    assert built(1) == built(1)
    assert built(1) != built(2)
