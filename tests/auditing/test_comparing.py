"""diff of two checkpoints: which tensors, how much, of which rank; and which answers."""

import json
import shutil

import pytest

import byheart
from byheart.cli import main
from byheart.errors import ByheartError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
NAME = "model.layers.0.mlp.down_proj.weight"


@pytest.fixture
def edited(checkpoint, tmp_path):
    """edited(change, **config): a copy of a Llama whose tensors are what `change` makes of them."""
    from safetensors.torch import load_file, save_file

    def make(change, family="llama", **config):
        folder = shutil.copytree(checkpoint(family, scale=4.0), tmp_path / "edited")
        path = folder / "model.safetensors"
        tensors = change(load_file(path))
        save_file({x: y.contiguous() for x, y in tensors.items()}, path, {"format": "pt"})
        settings = json.loads((folder / "config.json").read_text()) | config
        (folder / "config.json").write_text(json.dumps(settings))
        return folder

    return make


def test_a_copy_is_equal(checkpoint, edited, capsys):
    base, copy = checkpoint("llama", scale=4.0), edited(dict)
    found = byheart.diff(base, copy)
    assert found.same and not found.tensors and found.changed == 0
    assert found.weights[0][0].sha256 == found.weights[1][0].sha256
    assert main(["diff", str(base), str(copy)]) == 0
    assert "the two are equal: weights, config and tokenizer" in capsys.readouterr().out


@pytest.mark.parametrize("rank", [1, 3])
def test_an_edit_of_low_rank_is_one_tensor_of_that_rank(rank, checkpoint, edited):
    """Rounding to float32 gives the difference full rank, and it is not counted."""
    generator = torch.Generator().manual_seed(0)

    def change(tensors):
        rows, columns = tensors[NAME].shape
        left, right = (torch.randn(n, rank, generator=generator) for n in (rows, columns))
        return tensors | {NAME: tensors[NAME] + left @ right.T}

    base, other = checkpoint("llama", scale=4.0), edited(change)
    (found,) = byheart.diff(base, other).tensors
    assert (found.name, found.rank) == (NAME, rank)
    assert found.energy <= rank and found.changed == found.numbers == 16 * 32
    from safetensors.torch import load_file

    one, two = (load_file(x / "model.safetensors")[NAME].double() for x in (base, other))
    assert found.relative == pytest.approx(float((two - one).norm() / one.norm()))
    assert found.largest == pytest.approx(float((two - one).abs().max()))
    assert torch.linalg.matrix_rank(two - one) == 16


def test_a_sketch_finds_the_rank_of_large_matrices():
    from byheart.auditing.comparing import change

    generator = torch.Generator().manual_seed(1)
    one = torch.randn(1100, 1200, generator=generator)
    left, right = (torch.randn(n, 2, generator=generator) for n in one.shape)
    found = change("w", one, one + left @ right.T)
    assert (found.rank, found.energy) == (2, 2)
    full = change("w", one, one + torch.randn(one.shape, generator=generator))
    assert full.rank is None and full.changed == one.numel()


def test_a_copy_in_fewer_bits_is_said_to_be_one(checkpoint, edited, capsys):
    def rounded(tensors):
        return {name: x.bfloat16() for name, x in tensors.items()}

    base = checkpoint("llama", scale=4.0)
    other = edited(rounded, dtype="bfloat16")
    found = byheart.diff(base, other)
    assert {x.how for x in found.tensors} == {"rounded to bfloat16"}
    assert {x.types for x in found.tensors} == {("float32", "bfloat16")}
    assert ("dtype", '"float32"', '"bfloat16"') in found.config
    shutil.rmtree(other)

    def quantised(tensors):
        scale = tensors[NAME].abs().amax(1, keepdim=True) / 7
        return tensors | {NAME: (tensors[NAME] / scale).round() * scale}

    (one,) = byheart.diff(base, edited(quantised)).tensors
    assert one.how.startswith("quantised: at most 1") and one.how.endswith("values in a row")


def test_moved_tied_and_missing_tensors(checkpoint, edited):
    def change(tensors):
        moved = {name.replace(NAME, "elsewhere.weight"): x for name, x in tensors.items()}
        moved["lm_head.weight"] = moved["model.embed_tokens.weight"].clone()
        return moved | {"more": torch.ones(2)}

    found = byheart.diff(checkpoint("llama", scale=4.0), edited(change, tie_word_embeddings=True))
    assert found.moved == ((NAME, "elsewhere.weight"),) and found.after_only == ("more",)
    assert [x.name for x in found.tensors] == ["lm_head.weight"]
    (tie,) = found.ties
    assert tie.startswith("lm_head.weight and model.embed_tokens.weight are equal in the second")
    assert ("tie_word_embeddings", "false", "true") in found.config and not found.same


def test_items_whose_answer_changed(checkpoint, edited, ids, random_rows, tmp_path, capsys):
    """Against a plain loop of both."""
    import transformers

    base, rows = checkpoint("llama", scale=4.0), random_rows(5)
    other = edited(lambda x: x | {NAME: x[NAME] * 1.5})
    words = ["diff", str(base), str(other), str(ids(rows)), "--separator", "65535"]
    picture = tmp_path / "diff.svg"
    assert main([*words, "--json", "--plot", str(picture)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert picture.read_text().startswith("<?xml") and answer["asked"] == 5
    told = {x["item"]: x for x in answer["items"]}
    models = [transformers.AutoModelForCausalLM.from_pretrained(x).eval() for x in (base, other)]
    for number, row in enumerate(rows, 1):
        sides = []
        for model in models:
            with torch.no_grad():
                logits = model(torch.tensor([row[:-1]])).logits[0].double()
            own = logits[range(11), row[1:]]
            rank = int((logits > own[:, None]).sum(1).max()) + 1
            bits = -float(logits.log_softmax(1)[range(11), row[1:]].sum()) / 0.6931471805599453
            sides.append((" ".join(map(str, logits.argmax(1).tolist())), rank, bits))
        changed = sides[0][:2] != sides[1][:2] or abs(sides[0][2] - sides[1][2]) >= 0.01
        assert (number in told) == changed
        if changed:
            for side, wanted in zip(("before", "after"), sides, strict=True):
                found = told[number][side]
                assert (found["answer"], found["rank"]) == wanted[:2]
                assert found["bits"] == pytest.approx(wanted[2], abs=1e-4)
    assert main(words) == 0
    assert f"of 5 items: {sum(x[0] > 0 for x in told.items())}" not in capsys.readouterr().err


def test_tokenizers_that_differ(tokenized, tmp_path):
    other = shutil.copytree(tokenized, tmp_path / "other")
    path = other / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["vocab"] |= {"w1": 2, "w2": 1, "new": 32}
    path.write_text(json.dumps(content))
    told = byheart.diff(tokenized, other).tokenizer
    assert told[0] == "tokenizer.json: 1 tokens added, 0 removed, 2 with another number"


def test_what_cannot_be_compared(checkpoint, tmp_path, capsys):
    base = checkpoint("llama", scale=4.0)
    byheart.compile(byheart.Dataset.from_rows([([1], 2), ([2], 1)])).save(tmp_path / "model")
    with pytest.raises(ByheartError, match="compare two of a kind"):
        byheart.diff(base, tmp_path / "model")
    assert main(["diff", str(base), str(tmp_path)]) == 2
    assert "has no config.json" in capsys.readouterr().err
