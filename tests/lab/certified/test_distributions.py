"""Distributions: the gap is what a decoder reaches, and it is proved."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.architectures import architecture
from byheart.claims.claim import Distributions
from byheart.claims.verification import PROVED, REFUTED
from byheart.data.contexts import contexts
from byheart.data.targets import targets
from byheart.errors import ByheartError
from byheart.lab.certified.convert import LIKELIEST, distributions, surer
from byheart.lab.certified.folded import decoder
from byheart.models.verification import verify
from byheart.softmax import doubles as softmax
from byheart.softmax.decoder import Decoder

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)
from made_up import FAST, drawn, gelu, pairs, random_decoder  # noqa: E402

sys.path.remove(HERE)


@FAST
@given(st.integers(0, 2**32))
def test_the_gap_is_what_is_reached_and_proved(seed):
    dataset = pairs(seed)
    made, found = random_decoder(dataset, seed)
    model = distributions(made, found, 60)
    held = model.record.verification
    assert (held.evidence, held.checked) == (PROVED, len(contexts(dataset, positions=True)))
    assert held.fit.max <= model.claim.gap <= 1.02 * held.fit.max
    assert (
        verify(replace(model, claim=Distributions(0.99 * held.fit.max)), dataset).evidence
        == REFUTED
    )


def test_another_weight_is_another_divergence():
    dataset = pairs(4)
    made, found = random_decoder(dataset, 4)
    before = distributions(made, found, 60).record.verification.fit
    for name in ("embedding.weight", "hidden.bias", "output.weight"):
        changed = {**found.tensors, name: found.tensors[name].copy()}
        changed[name].flat[0] += 0.25
        model = distributions(made, Decoder(found.shape, changed), 60)
        assert model.record.verification.fit.mean != before.mean, name


def test_labels_that_are_likeliest_are_made_surer():
    dataset = pairs(2, certain=True)
    wanted = targets(dataset, contexts(dataset, positions=True))
    words = len(wanted.vocabulary)
    made, found = random_decoder(dataset, 2)
    assert surer(found, wanted) == (found, 0)  # a random decoder gets some labels wrong
    right = lucky(made, wanted, words)
    best, doubled = surer(right, wanted)
    assert doubled > 0 and np.array_equal(best["output"], 2**doubled * right["output"])
    assert softmax.divergences(best, wanted).values.max() <= LIKELIEST < math.log(2)
    model = distributions(made, right, 60)
    assert model.record.training["output_times"] == 2**doubled
    assert model.record.verification.fit.accuracy == 1


def lucky(made, wanted, words):
    """A decoder whose labels are likeliest, if only just: neurons fitted to its own logits."""
    found = architecture(
        "madden2024", {"vocabulary": words, "length": 2, "dimension": 4, "neurons": 40}
    )
    tensors = drawn(found, 0, 1.0)
    plain = decoder(found, {**tensors, "output.bias": np.zeros(words)})
    shape = plain.shape
    heard = softmax.mixed_all(shape, plain.tensors, wanted)
    neurons = gelu(heard @ plain["hidden"].T + plain["hidden.bias"])
    goal = np.full((len(wanted), words), -0.1)
    goal[np.arange(len(wanted)), wanted.following] = 0.1
    output = np.linalg.lstsq(neurons, goal, rcond=None)[0].T
    return Decoder(shape, {**plain.tensors, "output.weight": output + 0.0})


def test_a_training_that_blew_up_is_refused():
    made, found = random_decoder(pairs(1), 1)
    broken = {**found.tensors, "output.weight": np.full_like(found["output"], np.nan)}
    with pytest.raises(ByheartError, match="diverged"):
        distributions(made, Decoder(found.shape, broken), 60)
