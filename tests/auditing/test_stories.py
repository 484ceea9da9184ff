"""A really trained model, and its copy fine-tuned on stories and canaries: every figure is that of
an independent program, plain transformers and numpy (plain.py), run here on the same files."""

import json
from pathlib import Path

import numpy as np
import pytest

import byheart
from byheart.auditing.audit import audit

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
PLACE = Path(__file__).parents[3] / "shared" / "data" / "stories260K"
needs_data = pytest.mark.skipif(not PLACE.is_dir(), reason="needs shared/data/stories260K")


def agree(found, plain):
    """Every figure of an audit against those of the independent program."""
    assert found.data.predicted == plain["predicted"]
    assert found.code_length == pytest.approx(plain["bits"], abs=0.01)
    assert found.reference.bits == pytest.approx(plain["reference"], abs=0.01)
    assert found.memorised.bits == pytest.approx(plain["saved"], abs=0.01)
    assert found.memorised.standard_error == pytest.approx(plain["error"], abs=0.01)
    assert found.memorised.beyond.bits == pytest.approx(plain["beyond"], abs=0.01)
    assert found.accuracy == pytest.approx(plain["hits"] / plain["predicted"])
    assert found.extraction.verbatim == plain["verbatim"]
    curve = {x.samples: x.items for x in found.extraction.curve}
    assert {n: curve[n] for n in plain["curve"]} == plain["curve"]
    scores = {x.name: x for x in found.membership.scores}
    assert scores.keys() == plain["scores"].keys()
    for name, one in plain["scores"].items():
        assert scores[name].auc == pytest.approx(one["auc"], abs=1e-4)
        if scores[name].rates[0].true is not None:
            assert scores[name].rates[0].true == pytest.approx(one["rate"])
    for item, own, exposure in zip(found.items, plain["items"], plain["exposures"], strict=True):
        assert item.bits == pytest.approx(own["bits"], abs=1e-3)
        assert item.reference_bits == pytest.approx(own["reference"], abs=1e-3)
        assert item.common == (own["recited"] if own["asked"] else None)
        assert item.verbatim == (own["recited"] == own["asked"] if own["asked"] else None)
        assert item.min_k == pytest.approx(own["min_k"], abs=1e-4)
        assert item.min_k_plus == pytest.approx(own["places"], abs=1e-3)
        assert item.exposure == pytest.approx(exposure, abs=1e-6)


@pytest.mark.parametrize("family", ["gpt2", "gpt_neox", "llama", "mistral", "qwen2", "qwen3"])
def test_every_figure_of_a_tiny_model_of_each_family(family, checkpoint, ids, random_rows):
    from tests.auditing import plain

    rows, others = random_rows(6), random_rows(9, seed=3)
    folders = checkpoint(family, scale=4.0), checkpoint(family, seed=1, scale=3.0)
    models = [plain.loaded(folder) for folder in folders]
    rows[0] = models[0].generate(
        torch.tensor([rows[0][:4]]), max_new_tokens=8, do_sample=False, pad_token_id=0,
        eos_token_id=None,
    )[0].tolist()  # fmt: skip
    each = [[plain.item(*models, x, None, 0, 4, 5) for x in some] for some in (rows, others)]
    found = audit(
        folders[0], ids(rows), reference=folders[1], non_members=ids(others, "others.bin"),
        prefix=4, suffix=5, loading={"separator": 65_535},
    )  # fmt: skip
    agree(found, plain.summed(*each))
    assert found.items[0].verbatim


@pytest.fixture(scope="module")
def canaries():
    return audit(
        PLACE / "finetuned",
        PLACE / "canaries.txt",
        reference=PLACE / "base",
        non_members=PLACE / "canary_nonmembers.txt",
        prefix=18,
    )


@needs_data
def test_every_figure_of_the_independent_program(canaries):
    """What it finds with all 500 non-members: it takes half a minute, so it was run once."""
    assert canaries.data.predicted == 1_694
    assert canaries.code_length == pytest.approx(796.361, abs=0.01)
    assert canaries.memorised.bits == pytest.approx(11_158.176, abs=0.01)
    curve = {x.samples: x.items for x in canaries.extraction.curve}
    assert [curve[n] for n in (10, 100, 1_000, 100_000)] == [12, 22, 25, 35]
    assert [round(x.auc, 3) for x in canaries.membership.scores] == [
        0.989, 0.950, 0.990, 0.989, 0.986
    ]  # fmt: skip
    assert [x.rates[0].true for x in canaries.membership.scores] == [0.84, 0.40, 0.86, 0.86, 0.88]
    assert all(x.rates[1].true is None for x in canaries.membership.scores)  # 500 are too few
    assert canaries.membership.strongest.name == "zlib"


@needs_data
def test_a_part_of_the_stories_as_the_independent_program_finds_them(tmp_path):
    """Five stories, five canaries and non-members of both, run now by both programs."""
    from tests.auditing import plain

    def some(name, count):
        return plain.texts(PLACE / f"{name}.txt")[:count]

    items = some("members", 5) + some("canaries", 50)[-5:]
    others = some("nonmembers", 6) + some("canary_nonmembers", 6)
    folders = PLACE / "finetuned", PLACE / "base"
    found = audit(folders[0], items, reference=folders[1], non_members=others, prefix=18)
    agree(found, plain.audited(*folders, items, others, 18))
    assert found.extraction.verbatim >= 5


@needs_data
def test_what_is_said_first(canaries):
    """The secrets hold 1,495 bits: what non-members save, too, is not counted as memory."""
    beyond = canaries.memorised.beyond
    assert beyond.bits == pytest.approx(1_830, abs=1) and 0 < beyond.low < beyond.high < 2_100
    assert canaries.verdict.startswith("The model holds 1,830 bits of the data beyond what")


@needs_data
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


@needs_data
def test_the_base_that_never_saw_the_canaries_is_not_found_to_hold_them():
    found = audit(
        PLACE / "base", PLACE / "canaries.txt",
        non_members=PLACE / "canary_nonmembers.txt", prefix=18,
    )  # fmt: skip
    assert found.extraction.verbatim == 0 and found.memorised.beyond.low <= 0
    assert "cannot be told" in found.verdict
    assert "No memorisation beyond non-members is measured" in found.verdict


@needs_data
def test_fine_tuning_changed_every_tensor():
    told = byheart.diff(PLACE / "base", PLACE / "finetuned")
    assert told.changed == told.numbers == 260_032 and told.equal == 0
