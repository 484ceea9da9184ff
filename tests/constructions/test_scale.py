"""Ten million sequences: minutes, so only in `make slow`."""

import pytest

from byheart.api.compile import compile
from byheart.data.generate import random


@pytest.mark.slow
def test_ten_million_sequences():
    sequences = 10_000_000
    record = compile(random(sequences, seed=0)).record
    verification = record.verification
    assert (verification.evidence, verification.correct) == ("proved", sequences)
    assert record.parameters.nonzero <= 10_900
    assert record.bits.total <= 1.08 * record.bits.information
