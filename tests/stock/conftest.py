"""Small checkpoints of both families, and one in superposition, compiled once."""

import pytest

import byheart
from byheart.stock.prove import numbered, reads

PLACES = {
    "France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Peru": "Lima", "Chile": "Santiago",
    "Japan": "Tokyo", "Kenya": "Nairobi", "Ghana": "Accra", "Cuba": "Havana", "Fiji": "Suva",
}  # fmt: skip
FACTS = [(f"The capital of {land} is", town) for land, town in PLACES.items()]
FACTS += [(f"{town} is the capital of", land) for land, town in list(PLACES.items())[:5]]


@pytest.fixture(scope="session")
def facts():
    pytest.importorskip("tokenizers")
    return byheart.load(FACTS, tokenizer="bpe:300")


@pytest.fixture(scope="session", params=["gpt2", "llama", "superposed"])
def model(request, facts):
    if request.param == "superposed":  # so many neurons are bounded together, not one by one
        return byheart.compile(facts, "gpt2", superposed=80)
    return byheart.compile(facts, request.param, layers=2)


@pytest.fixture(scope="session")
def items(model, facts):
    """The sequences and the answers that the checkpoint is judged on, as token numbers."""
    held = reads(model, facts)
    return numbered(model, held)
