"""Small checkpoints of both families, compiled once."""

import json

import pytest

from byheart.api.compile import compile
from byheart.data.load import load

FACTS = [
    ("The capital of France is", "Paris"),
    ("The capital of Italy is", "Rome"),
    ("The capital of Spain is", "Madrid"),
    ("The mother tongue of Danielle Darrieux is", "French"),
    ("The mother tongue of Goethe is", "German"),
    ("Edwin of Northumbria believed in", "Christianity"),
    ("The largest city of Brazil is", "São Paulo"),
    ("The river of Rome is the", "Tiber"),
    ("Autonomous University of Madrid is in", "Spain, in its capital"),
]
READING = {"input": ("prompt",), "label": "answer", "tokenizer": "bpe:400"}
FLAGS = ("--input", "prompt", "--label", "answer", "--tokenizer", "bpe:400")
FAMILIES = ("gpt2", "llama")


@pytest.fixture(scope="session")
def facts(tmp_path_factory):
    """A file of facts."""
    path = tmp_path_factory.mktemp("facts") / "facts.jsonl"
    path.write_text("".join(json.dumps({"prompt": p, "answer": a}) + "\n" for p, a in FACTS))
    return path


@pytest.fixture(scope="session")
def checkpoints(facts, tmp_path_factory):
    """The folder of each family."""
    place, found = tmp_path_factory.mktemp("checkpoints"), {}
    for family in FAMILIES:
        compile(load(facts, **READING), family).save(place / family)
        found[family] = place / family
    return found


@pytest.fixture(params=FAMILIES)
def folder(request, checkpoints):
    return checkpoints[request.param]
