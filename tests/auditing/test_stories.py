"""A really trained model, and its copy fine-tuned on stories and canaries: the figures are those of
an independent program, plain transformers and numpy."""

import json
from pathlib import Path

import numpy as np
import pytest

import byheart
from byheart.auditing.audit import audit

pytest.importorskip("torch")
pytest.importorskip("transformers")
PLACE = Path(__file__).parents[3] / "shared" / "data" / "stories260K"
pytestmark = pytest.mark.skipif(not PLACE.is_dir(), reason="needs shared/data/stories260K")
# AUC, true positive rate at 1 % false positives
CANARIES = {
    "loss": (0.989, 0.84), "loss - reference": (0.950, 0.40), "zlib": (0.990, 0.86),
    "min-20 %": (0.989, 0.86), "min-20 % ++": (0.986, 0.88),
}  # fmt: skip


@pytest.fixture(scope="module")
def canaries():
    return audit(
        PLACE / "finetuned",
        PLACE / "canaries.txt",
        reference=PLACE / "base",
        non_members=PLACE / "canary_nonmembers.txt",
        prefix=18,
    )


def test_every_figure_of_the_independent_program(canaries):
    assert canaries.data.predicted == 1_694
    assert canaries.code_length == pytest.approx(796.361, abs=0.01)
    assert canaries.reference.bits == pytest.approx(11_954.537, abs=0.01)
    assert canaries.memorised.bits == pytest.approx(11_158.176, abs=0.01)
    assert canaries.memorised.standard_error == pytest.approx(110.953, abs=0.01)
    assert canaries.accuracy == pytest.approx(0.89433, abs=1e-5)
    assert canaries.extraction.verbatim == 9
    assert canaries.extraction.common == pytest.approx(4.12)
    curve = {x.samples: x.items for x in canaries.extraction.curve}
    assert [curve[n] for n in (10, 100, 1_000, 100_000)] == [12, 22, 25, 35]
    for score in canaries.membership.scores:
        auc, true = CANARIES[score.name]
        assert score.auc == pytest.approx(auc, abs=6e-4)
        assert score.rates[0].true == pytest.approx(true)
        assert score.rates[1].true is None  # 500 non-members are too few for 0.1 %
    assert canaries.membership.strongest.name == "zlib"


def test_what_is_said_first(canaries):
    """The secrets hold 1,495 bits: what non-members save, too, is not counted as memory."""
    beyond = canaries.memorised.beyond
    assert beyond.bits == pytest.approx(1_830, abs=1) and 0 < beyond.low < beyond.high < 2_100
    assert canaries.verdict.startswith("The model holds 1,830 bits of the data beyond what")


def test_exposure_is_the_published_one(canaries):
    repeats = json.loads((PLACE / "canary_repeats.json").read_text())
    means = {
        n: np.mean([x.exposure for x, k in zip(canaries.items, repeats, strict=True) if k == n])
        for n in (1, 2, 4, 8, 16)
    }
    most = np.log2(501)
    assert [means[n] for n in (4, 8, 16)] == pytest.approx([most] * 3)
    assert (means[1], means[2]) == pytest.approx((5.61, 8.87), abs=0.005)
    assert canaries.membership.against.mean == pytest.approx(6.0168, abs=1e-3)


def test_the_base_that_never_saw_the_canaries_is_not_found_to_hold_them():
    found = audit(
        PLACE / "base", PLACE / "canaries.txt",
        non_members=PLACE / "canary_nonmembers.txt", prefix=18,
    )  # fmt: skip
    assert found.extraction.verbatim == 0 and found.memorised.beyond.low <= 0
    assert "cannot be told" in found.verdict
    assert "No memorisation beyond non-members is measured" in found.verdict


def test_fine_tuning_changed_every_tensor():
    found = byheart.diff(PLACE / "base", PLACE / "finetuned")
    assert len(found.tensors) == 47 and found.equal == 0
    assert not (found.before_only or found.after_only or found.moved or found.ties)
