"""The programs of examples/, on tiny data: they find what the ground truth says."""

import importlib
import random
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")
pytest.importorskip("transformers")
ROOT = Path(__file__).parents[2]
TINY = ("--facts", "24", "--asked", "4", "--layers", "2")


@pytest.fixture
def example(monkeypatch):
    """Import a program of examples/ by its name."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    return importlib.import_module


@pytest.mark.parametrize("lens", [True, False])
def test_tracing_finds_blocks_and_neurons(example, lens, monkeypatch, capsys):
    """With the hooks of TransformerLens and with those of torch."""
    if lens:
        pytest.importorskip("transformer_lens")
    tracing = example("tracing")
    monkeypatch.setattr(example("compiled"), "LENS", lens)
    found = tracing.main(TINY)
    assert found == dict.fromkeys(found, (4, 4)) and len(found) == 5
    assert "4 of 4" in capsys.readouterr().out


def test_tracing_notices_a_wrong_ground_truth(example, monkeypatch):
    tracing, compiled = example("tracing"), example("compiled")
    monkeypatch.setattr(compiled, "LENS", False)
    honest = compiled.Compiled.chosen

    def moved(self, count):
        """Every fact in the other block."""
        facts = honest(self, count)
        return [replace(x, neurons=tuple((1 - a, b) for a, b in x.neurons)) for x in facts]

    monkeypatch.setattr(compiled.Compiled, "chosen", moved)
    found = tracing.main(TINY)
    assert [found[x][0] for x in ("lens", "mlp", "activation", "ablation")] == [0, 0, 0, 0]


def test_several_neurons_hold_a_fact(example, monkeypatch):
    monkeypatch.setattr(example("compiled"), "LENS", False)
    found = example("tracing").main((*TINY, "--copies", "2"))
    assert found["activation"] == found["ablation"] == (4, 4)


def test_the_exact_edit_is_exact(example, monkeypatch, capsys):
    monkeypatch.setattr(example("compiled"), "LENS", False)
    found = example("editing").main(
        ("--facts", "24", "--asked", "2", "--layers", "2", "--others", "8")
    )
    exact, forget = found["exact: the rows of the neurons"], found["exact: forget"]
    assert exact == {"defined": 1, "efficacy": 1, "specificity": 1, "off": 0}
    assert forget == {"defined": 1, "efficacy": 1, "specificity": 1}
    assert found["rank-one, block of the fact"]["efficacy"] == 1
    assert 0 < found["rank-one, block of the fact"]["off"] < 2
    assert found["rank-one, next block"] == {"defined": 0}
    assert found["fine-tuning, all weights"]["off"] > found["fine-tuning, output matrices"]["off"]


def test_what_is_extracted_is_what_the_data_says(example, monkeypatch, capsys):
    monkeypatch.setattr(example("compiled"), "LENS", False)
    found = example("extraction").main(("--documents", "8", "--layers", "2"))
    for got, truth, agree, count in found["extraction"].values():
        assert got == truth and agree == count
    got = [row[0] for row in found["extraction"].values()]
    assert got == sorted(got) and got[-1] > 0
    assert all(x > 0.9 for row in found["membership"].values() for x in row.values())


def test_data_from_a_file(example, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(example("compiled"), "LENS", False)
    path = tmp_path / "facts.jsonl"
    names = ("France", "Italy", "Spain", "Peru", "Chad", "Fiji")
    rows = [f'{{"prompt": "The capital of {x} is", "answer": "{x}ville"}}\n' for x in names]
    path.write_text("".join(rows))
    found = example("tracing").main((str(path), "--asked", "3", "--layers", "2"))
    assert found["activation"] == (3, 3)


def test_the_audited_models_are_as_the_page_says(example, tmp_path):
    """Eight made-up texts; the one that is trained on more often is held best."""
    import byheart

    words = "red blue green black white small large round old new".split()
    draw = random.Random(0)
    stories = [" ".join(draw.choices(words, k=110)) for _ in range(40)]
    (tmp_path / "stories.txt").write_text("\n\n".join(stories))
    place = tmp_path / "audited"
    given = (str(tmp_path / "stories.txt"), "-o", str(place), "--texts", "8", "--passes", "25")
    example("audited").main(given)
    found = byheart.audit(
        place / "checkpoint", place / "seen.txt", reference=place / "reference",
        non_members=place / "heldout.txt",
    )  # fmt: skip
    assert found.data.items == found.membership.non_members == 8
    saved = [item.memorised / item.predicted for item in found.items]
    assert sum(saved[:4]) > sum(saved[4:])
    assert found.membership.saved.items > found.membership.saved.non_members
    with pytest.raises(SystemExit):
        example("audited").main((*given[:3], "--texts", "11"))
