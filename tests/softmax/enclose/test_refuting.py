"""A decoder whose divergence is provably beyond the gap is refuted, whatever a float run says.

Embeddings of 2^60, 5 and -2^60 are added up by the output: doubles lose the 5, so that both tokens
look equally likely, while the first has a probability of 99.3 %.
"""

import numpy as np
import pytest

from byheart.claims.claim import Distributions, Words
from byheart.claims.verification import Judging
from byheart.data.dataset import Dataset
from byheart.data.targets import Divergences
from byheart.models.model import Model
from byheart.models.verification import verify
from byheart.softmax import doubles
from byheart.softmax.decoder import Decoder, Shape
from byheart.softmax.enclose import dense, enclose
from byheart.softmax.prove import _divergences, targets_of

GAP = 1e-9
LARGE = 2.0**60
WORDS = tuple("abcdefgh")


def decoder(large=LARGE, skip=True):
    """Logits 5 and 0 for the first two words and 0 for the others, after every context."""
    shape = Shape(len(WORDS), 1, 3, "attention", 1, 1, 1, skip, 0, "none")
    tensors = {name: np.zeros(size) for name, size in shape.tensors.items()}
    tensors["embedding.weight"][:] = large, 5.0, -large
    tensors["output.weight"][0] = 1.0
    return Decoder(shape, tensors)


def model(network):
    return Model(network, Words("string", WORDS), Distributions(GAP))


DATA = Dataset.from_rows([([word], label) for word in WORDS for label in WORDS])


def test_the_float_run_is_wrong():
    wanted = targets_of(model(decoder()), DATA)
    assert (doubles.divergences(decoder(), wanted).values <= GAP).all()


def test_a_proof_refutes_what_a_float_run_accepts():
    found = verify(model(decoder()), DATA)
    assert (found.evidence, found.checked, found.correct) == ("refuted", 8, 0)
    assert "context ['a']: the divergence is at least 2.34 nats" in found.failures[0]
    assert found.fit is not None and 2.3 < found.fit.max < 2.4


def test_without_time_for_a_proof_it_is_observed():
    """Honest, if weak: no rigorous bound exists, and the evidence says so."""
    assert verify(model(decoder()), DATA, prove_limit=0).evidence == "observed"


@pytest.mark.parametrize("others", [True, False])
def test_some_contexts_are_asked_where_all_take_too_long(others, monkeypatch):
    """The dense engine is too slow for all contexts; another one decides none, or has no time."""
    network = decoder()
    wanted = targets_of(model(network), DATA)
    monkeypatch.setattr(dense, "seconds", lambda d, targets: float(len(targets)))
    monkeypatch.setattr("byheart.softmax.enclose.heads.seconds", lambda d, t: 0.0 if others else 9)
    monkeypatch.setattr("byheart.softmax.enclose.heads._room", lambda d, t: 0)
    found = enclose(network, wanted, GAP, limit=4)
    assert found is not None and found.rigorous
    assert (found.below > GAP).tolist() == [True, False] * 4
    assert (found.values[1::2] > 1e6).all() and not found.below[1::2].any()
    assert enclose(network, wanted, GAP, limit=0.5) is None or others
    refuted = verify(model(network), DATA, prove_limit=4)
    assert (refuted.evidence, refuted.correct) == ("refuted", 4)


def test_rigorous_bounds_overrule_a_float_run(monkeypatch):
    """Of five contexts: proved right twice, proved wrong, and only the run decides, twice."""
    inf, nan = np.inf, np.nan
    above, below = np.array([GAP, GAP, inf, inf, inf]), np.array([0, 0, 1.0, 0, 0])
    run = np.array([5.0, nan, 0.0, 0.0, nan])
    places, zeros = np.zeros(5, np.int64), np.zeros(5)
    bounds = Divergences(above, below, places, rigorous=True, engine="dense")
    observed = Divergences(run, zeros, places, rigorous=False, engine="float64")
    monkeypatch.setattr("byheart.softmax.enclose.enclose", lambda *_: bounds)
    monkeypatch.setattr(doubles, "divergences", lambda *_: observed)
    wanted = targets_of(model(decoder()), DATA).subset(np.arange(5))
    found = _divergences(decoder(), wanted, GAP, Judging())
    assert not found.rigorous
    assert found.values.tolist() == [GAP, GAP, 1.0, 0.0, inf]


def test_what_is_not_a_number_is_wrong():
    """Doubles overflow to infinity minus infinity; without time for a proof that is not right."""
    network = decoder(1.7e308)
    network.tensors["embedding.weight"][:, 1] = 1.7e308
    wanted = targets_of(model(network), DATA)
    with np.errstate(all="ignore"):
        assert np.isnan(doubles.divergences(network, wanted).values).all()
        found = verify(model(network), DATA, prove_limit=0)
    assert (found.evidence, found.correct) == ("refuted", 0)
    assert "nan nats in a float run" in found.failures[0]
