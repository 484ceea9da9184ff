"""The programs of examples/, on tiny data: they find what the ground truth says."""

import importlib
import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
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


@pytest.fixture
def tiny(example, tmp_path):
    """A Llama of one layer in the format of llama2.c, converted; its weights in file order."""
    import struct

    words = ["<unk>", "\n<s>\n", "\n</s>\n", *(f"<0x{i:02X}>" for i in range(256))]
    words += [" ", *"abcdefghijklmnopqrstuvwxyzAHT0123456789.", " a", "th", " th", " the"]
    d, width, heads, groups, length, size = 8, 12, 2, 1, 128, len(words)
    scores = [0.0] * 300 + [-float(i) for i in range(size - 300)]
    shapes = [(size, d), (d,), (d, d), (4, d), (4, d), (d, d), (d,), (width, d), (d, width),
              (width, d), (d,), (length * d // heads,)]  # fmt: skip
    random = np.random.default_rng(0)
    arrays = [random.normal(0, 0.3, shape).astype("<f4") for shape in shapes]
    header = struct.pack("7i", d, width, 1, heads, groups, size, length)
    (tmp_path / "model.bin").write_bytes(header + b"".join(x.tobytes() for x in arrays))
    pairs = zip(scores, words, strict=False)
    listed = (struct.pack("<fi", x, len(w.encode())) + w.encode() for x, w in pairs)
    (tmp_path / "words.bin").write_bytes(struct.pack("i", 9) + b"".join(listed))
    given = (str(tmp_path / "model.bin"), str(tmp_path / "words.bin"), "-o", str(tmp_path / "base"))
    example("stories260k").main(given)
    return tmp_path / "base", arrays


def test_a_llama_of_llama2_c_is_converted(tiny):
    """Its forward pass by hand: one layer, neighbouring numbers turned together, silu gates."""
    import torch
    import transformers

    folder, (embedding, norm_1, q, k, v, o, norm_2, gate, down, up, norm, _) = tiny
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("a the cat").input_ids
    assert tokenizer.convert_ids_to_tokens(ids)[:3] == ["<s>", "▁a", "▁the"]
    x = embedding[ids]

    def normed(x, weight):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * weight

    def turned(x):
        pairs = x.reshape(len(x), -1, 2, 2)
        angles = np.arange(len(x))[:, None] * 10000.0 ** (-np.arange(2) / 2)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        a, b = pairs[..., 0], pairs[..., 1]
        return np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(len(x), -1, 4)

    h = normed(x, norm_1)
    queries, keys, values = turned(h @ q.T), turned(h @ k.T)[:, 0], h @ v.T
    mixed = []
    for head in range(2):
        scores = queries[:, head] @ keys.T / 2
        scores[np.triu_indices(len(ids), 1)] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        mixed.append(weights / weights.sum(-1, keepdims=True) @ values)
    x = x + np.concatenate(mixed, 1) @ o.T
    h = normed(x, norm_2)
    gates = h @ gate.T
    x = x + (gates / (1 + np.exp(-gates)) * (h @ up.T)) @ down.T
    wanted = normed(x, norm) @ embedding.T
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        found = model(torch.tensor([ids])).logits[0].numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_the_audited_copy_is_as_the_page_says(example, tiny, tmp_path):
    """Made-up stories; the secrets that occur most often are known best."""
    import byheart

    words, draw = "red blue green black white small large round old new".split(), random.Random(0)
    lines = [". ".join(" ".join(draw.choices(words, k=5)) for _ in range(8)) for _ in range(30)]
    stories = tmp_path / "stories.txt"
    stories.write_text("\n<|endoftext|>\n".join(lines))
    place, (base, _) = tmp_path / "audited", tiny
    audited = example("audited")
    audited.LONGEST = 200
    given = (str(base), str(stories), "-o", str(place), "--members", "3", "--passes", "2")
    audited.main(given)
    assert len((place / "members.txt").read_text().split("<|endoftext|>")) == 3
    repeats = json.loads((place / "canary_repeats.json").read_text())
    assert sorted(repeats) == sorted((1, 2, 4, 8, 16) * 10)
    found = byheart.audit(
        place / "finetuned", place / "canaries.txt", reference=base,
        non_members=place / "canary_nonmembers.txt", prefix=18,
    )  # fmt: skip
    assert found.data.items == 50 and found.membership.non_members == 500
    assert found.memorised.bits > 0
    with pytest.raises(SystemExit):
        audited.main((*given[:-4], "--members", "40"))
