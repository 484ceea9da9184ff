"""Ten million sequences: minutes, so only in `make slow`."""

import pytest

from byheart.compiler.compiling import compile
from byheart.data.generate import random


@pytest.mark.slow
def test_ten_million_sequences():
    sequences = 10_000_000
    about = compile(random(sequences, seed=0)).about
    verification = about["verification"]
    assert (verification.evidence, verification.correct) == ("proved", sequences)
    assert about["parameters"]["nonzero"] <= 10_900
    assert about["bits"]["total"] <= 1.08 * about["bits"]["information"]
