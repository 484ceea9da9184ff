"""Float64 networks and decoders in torch, ONNX Runtime and transformers; what is refused."""

import importlib.util
import json
import os
import re
import signal
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from byheart.api.compile import compile
from byheart.claims.claim import Distributions, Labels
from byheart.cli import main
from byheart.data.load import from_rows, load
from byheart.data.readers import raw
from byheart.errors import ByheartError
from byheart.exports import exporting, formats, onnx_graph, packages, pytorch
from byheart.exports.exporting import export
from byheart.machine.installing import remedy
from byheart.models.kinds import kind_of
from byheart.softmax.decoder import ACTIVATIONS, Decoder, Shape
from byheart.softmax.doubles import logits

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
random = np.random.default_rng(3)
SEQUENCES = {
    tuple("abcdefgh"[i] for i in random.integers(0, 8, random.integers(1, 7))) for _ in range(200)
}
LABELLED = from_rows([(list(x), "wxyz"[i % 4]) for i, x in enumerate(sorted(SEQUENCES))])
NUMBERS = from_rows([([1, 2, 3], 5), ([3, 2, 2], 7), ([4], 5)])
VECTORS = from_rows([([[1, 2], [0, 4]], "x"), ([[1, 2], [3, 4]], "y"), ([[5, 0]], "x")])
FOLLOWING = from_rows([
    (["a"], "b"), (["a"], "c"), (["a", "b"], "c"), (["b", "a"], "a"), (["b", "a"], "c"),
    (["c", "c", "c"], "b"), (["c", "a", "b"], "d"), (["d"], "a"), (["d"], "d"),
])  # fmt: skip
DECODERS = ("one-layer", "token-averaging", "attention-only", "one-layer-narrow")


CASES = {
    "float64 of words": (LABELLED, "float64", {}),
    "float64 of numbers": (NUMBERS, "float64", {}),
    "float64 of vectors": (VECTORS, "float64", {}),
    "float64 with positions": (LABELLED, "float64", {"positions": True}),
    **{method: (FOLLOWING, method, {}) for method in DECODERS},
}


@cache
def compiled(case):
    data, method, options = CASES[case]
    return compile(data, method, **options)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("to", ("torch", "onnx"))
def test_every_item_is_right_there(case, to, tmp_path):
    model, data = compiled(case), CASES[case][0]
    found = export(model, to, tmp_path / "out", data)
    checked = kind_of(model).prove.whole(data)
    assert found and found.verification.json() == {
        "checked": checked, "correct": checked, "evidence": "observed"
    }  # fmt: skip
    assert found.runtime["dtype"] == "float64"
    assert found.runtime["name"] == {"torch": "torch", "onnx": "onnxruntime"}[to]
    assert sorted(x.name for x in (tmp_path / "out").iterdir()) == list(found.files)
    assert f"{checked:,} of {checked:,}" in (tmp_path / "out" / "README.md").read_text()


def test_a_module_answers_words(tmp_path):
    """What the README of an export says, with nothing of byheart."""
    model = compiled("float64 of words")
    export(model, "torch", tmp_path / "out")
    source = (tmp_path / "out" / "model.py").read_text()
    assert "import byheart" not in source and "from byheart" not in source
    made = importlib.util.spec_from_file_location("a_model", tmp_path / "out" / "model.py")
    code = importlib.util.module_from_spec(made)
    made.loader.exec_module(code)
    network = code.load(tmp_path / "out")
    asked = [LABELLED.sequence(i) for i in range(len(LABELLED))]
    assert network.answers(asked) == [LABELLED.label(i) for i in range(len(LABELLED))]
    tensors = load_file(tmp_path / "out" / "model.safetensors")
    assert set(network.state_dict()) == set(tensors)


def test_a_strangers_words_are_only_text(tmp_path):
    model = compiled("float64 of numbers")
    record = replace(model.record, method="x\n\n# Proved\n<b>[a](b)")
    export(replace(model, record=record), "torch", tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text()
    assert "Proved" in text and "\n# Proved" not in text and not {*"<["} & {*text.splitlines()[2]}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("mixing", ("attention", "token_sum"))
@pytest.mark.parametrize("padding", (None, 2))
def test_random_decoders_give_the_same_logits(activation, mixing, padding, tmp_path):
    like = compiled("one-layer")
    heads = (2, 3, 4) if mixing == "attention" else (0, 0, 0)
    shape = Shape(5, 3, 6, mixing, *heads, mixing == "attention", 7, activation, padding)
    drawn = np.random.default_rng(1)
    tensors = {name: drawn.standard_normal(size) for name, size in shape.tensors.items()}
    words = like.words._replace(tokens=tuple("abcde"))
    model = type(like)(Decoder(shape, tensors), words, Distributions(1.0), like.record)
    tokens = np.array([[0, 1, 4], [3, 3, 0]])
    if padding is None:
        tokens = tokens[:, :2]
    size = tokens.shape[1]
    expected = logits(model.network, tokens.ravel(), np.array([0, size, 2 * size]))
    export(model, "torch", tmp_path / "torch")
    found = pytorch.runtime(model, tmp_path / "torch").run(tokens)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    export(model, "onnx", tmp_path / "onnx")
    if activation in ("logistic", "tanh"):
        found = onnx_graph.loaded(tmp_path / "onnx" / "model.onnx").run(tokens)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    else:  # it has no such function of doubles, and says so
        with pytest.raises(ByheartError, match="does not run this graph.*to='torch'"):
            onnx_graph.loaded(tmp_path / "onnx" / "model.onnx")


@pytest.mark.parametrize("method", ("one-layer", "token-averaging"))
def test_a_decoder_in_transformers(method, tmp_path, monkeypatch):
    transformers = pytest.importorskip("transformers")
    modules = tmp_path / "modules"  # else the code is copied to the home of the user
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(modules))
    model = compile(FOLLOWING, method)
    found = export(model, "huggingface", tmp_path / "out", FOLLOWING)
    assert found.verification.evidence == "observed" and found.runtime["dtype"] == "float64"
    assert "trust_remote_code=True" in (tmp_path / "out" / "README.md").read_text()
    loaded = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "out", trust_remote_code=True
    )
    context = torch.tensor([model.numbers(["c", "c"])])
    said = loaded.generate(context, max_new_tokens=2, do_sample=False)[0, 2:].tolist()
    assert [model.tokens[x] for x in said][:1] == [model.recall(["c", "c"])]
    with pytest.raises(ValueError, match="trust_remote_code"):
        monkeypatch.setattr("builtins.input", lambda *_: "n")  # it asks a person
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out", trust_remote_code=False)


MIXED = from_rows([
    (list(x), "abcd"[i * 7 % 4]) for i, x in enumerate(sorted(SEQUENCES)) if {*x} <= set("abcdef")
])  # fmt: skip


@pytest.mark.parametrize("method", ("one-layer", "token-averaging", "one-layer-narrow"))
def test_a_padded_batch_labels_and_generate_as_everywhere(method, tmp_path, monkeypatch):
    """What a batch says is what each of its rows says alone, padded on either side."""
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "m"))
    data = FOLLOWING if method == "one-layer-narrow" else MIXED
    model = compile(data, method)
    assert export(model, "huggingface", tmp_path / "out", data).verification.evidence == "observed"
    load = transformers.AutoModelForCausalLM.from_pretrained
    module = load(tmp_path / "out", trust_remote_code=True, dtype=torch.float64).eval()
    rows = [[model.tokens.index(x) for x in data.sequence(i)] for i in range(len(data))]
    alone = [module(torch.tensor([row])).logits[0, -1] for row in rows]
    longest = max(map(len, rows))
    for side in ("left", "right"):
        ids, mask = torch.full((2, len(rows), longest), 0)
        for i, row in enumerate(rows):
            own = slice(longest - len(row), longest) if side == "left" else slice(0, len(row))
            ids[i, own], mask[i, own] = torch.tensor(row), 1
        said = module(input_ids=ids, attention_mask=mask).logits
        last = [longest - 1 if side == "left" else len(row) - 1 for row in rows]
        found = torch.stack([said[i, place] for i, place in enumerate(last)])
        torch.testing.assert_close(found, torch.stack(alone), rtol=1e-9, atol=1e-9)
        if side == "left":
            out = module.generate(
                ids[:3], attention_mask=mask[:3], max_new_tokens=1, pad_token_id=0
            )
            assert out[:, -1].tolist() == [int(x.argmax()) for x in alone[:3]]
    ids = torch.tensor([next(row for row in rows if len(row) == longest)])
    answer = module(input_ids=ids, labels=ids.clone())
    by_hand = [
        module(ids[:, :n]).logits[0, -1].log_softmax(0)[ids[0, n]] for n in range(1, longest)
    ]
    mean = -float(sum(by_hand).detach()) / (longest - 1)
    assert float(answer.loss.detach()) == pytest.approx(mean)
    with pytest.raises(ValueError, match=f"reads 1 to {model.length} tokens, not"):
        module(torch.zeros((1, model.length + 1), dtype=torch.long))
    with pytest.raises(ValueError, match="does not take position_ids"):
        module(ids, position_ids=ids)


def test_a_decoder_of_a_window_reads_the_last_tokens(tmp_path):
    """Documents are recited beyond the window, in which every context is."""
    pytest.importorskip("transformers")
    (tmp_path / "t.txt").write_text("a b c a b d a b c a\n")
    data = load(tmp_path / "t.txt", documents="line", window=3)
    model = compile(data, "one-layer")
    export(model, "huggingface", tmp_path / "out", data)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["sizes"]["window"] is True
    code = pytorch.code(tmp_path / "out" / "modeling_byheart.py").ByheartDecoder
    module = code.from_pretrained(tmp_path / "out", dtype=torch.float64)
    row = torch.tensor([[model.tokens.index(x) for x in data.sequence(len(data) - 1)]])
    long = torch.cat([torch.zeros((1, 4), dtype=torch.long), row], dim=1)
    assert torch.equal(module(long).logits[:, -1], module(row).logits[:, -1])


def test_what_a_file_of_torch_cannot_read_is_a_sentence(tmp_path):
    for case, name in (("float64 of words", "n"), ("one-layer", "d")):
        export(compiled(case), "torch", tmp_path / name)
        asked = pytorch.code(tmp_path / name / "model.py").load(tmp_path / name)
        ask = asked.answers if name == "n" else asked.distributions
        for tokens, says in ((["zz"], "not in the vocabulary"), ([], "tokens, not 0"),
                             (["a"] * 99, "tokens, not 99")):  # fmt: skip
            with pytest.raises(ValueError, match=says):
                ask([tokens])
        if name == "n":
            with pytest.raises(ValueError, match="float64"):
                asked.float().answers([["a"]])


@pytest.mark.parametrize("case", ("float64 of words", "float64 of vectors", "one-layer"))
def test_the_card_asks_what_the_model_knows(case, tmp_path):
    export(compiled(case), "torch", tmp_path / "out", CASES[case][0])
    card = (tmp_path / "out" / "README.md").read_text()
    (line,) = [x for x in card.splitlines() if x.startswith("    ") and "[[" in x]
    asked = pytorch.code(tmp_path / "out" / "model.py").load(tmp_path / "out")
    assert eval(line.strip(), {"network": asked, "decoder": asked})
    assert "Keep float64" in card


def test_a_changed_tensor_is_noticed_and_nothing_is_written(tmp_path, monkeypatch):
    model = compiled("float64 of words")
    form = formats.EXPORTS["torch", Labels]

    def changed(given, folder):
        form.write(given, folder)
        tensors = load_file(folder / "model.safetensors")
        last = f"layers.{len(model.network.layers) - 1}.bias"
        save_file({**tensors, last: tensors[last] + 1.0}, folder / "model.safetensors")

    monkeypatch.setitem(formats.EXPORTS, ("torch", Labels), replace(form, write=changed))
    found = export(model, "torch", tmp_path / "out", LABELLED)
    assert not found and found.verification.refuted and found.output is None
    assert found.verification.correct == 0 and len(found.verification.failures) == 10
    assert list(tmp_path.iterdir()) == []


def test_a_logit_that_is_not_a_number_is_wrong():
    class Nan:
        sentence, judged = "nowhere", None

        @staticmethod
        def run(tokens):
            return np.full((len(tokens), 4), np.nan)

    found = exporting.observed(compile(FOLLOWING, "one-layer"), FOLLOWING, Nan)
    assert found.refuted and found.correct == 0 and found.checked == 6


@pytest.mark.parametrize(
    ("method", "to", "says"),
    [
        ("hash-fold-retrieve", "torch", "exact in integers .weights of up to .*method='float64'"),
        ("hash-fold-retrieve", "onnx", "method='float64'"),
        ("one-layer-literal", "onnx", "exact weights of .* bits, and ONNX computes in doubles"),
        ("float64", "huggingface", "is no language model of Hugging Face"),
        ("float64", "gguf", "stock architectures alone"),
        ("float64", "tflite", "to must be one of torch, onnx, huggingface, gguf"),
    ],
)
def test_what_is_refused(method, to, says, tmp_path):
    data = FOLLOWING if method.startswith("one-layer") else LABELLED
    with pytest.raises(ByheartError, match=says):
        export(compile(data, method), to, tmp_path / "out", data)
    assert list(tmp_path.iterdir()) == []


def test_other_data_and_a_place_that_is_taken(tmp_path):
    model = compiled("float64 of words")
    with pytest.raises(ByheartError, match="not what the model was made from"):
        export(model, "torch", tmp_path / "out", LABELLED[:10])
    with pytest.raises(ByheartError, match="export takes a Model"):
        export(LABELLED, "torch", tmp_path / "out")
    (tmp_path / "out").mkdir()
    with pytest.raises(ByheartError, match="exists; choose another name"):
        export(model, "torch", tmp_path / "out")
    assert [x.name for x in tmp_path.iterdir()] == ["out"]


def test_an_export_is_replaced_with_force_and_nothing_else_is(tmp_path, capsys):
    compiled("one-layer").save(tmp_path / "model")
    words = ["export", str(tmp_path / "model"), "--to", "torch", "-o", str(tmp_path / "out")]
    assert main(words) == 0 and main(words) == 2
    assert "--force" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert main([*words, "--force"]) == 2
    assert "not a folder that an export wrote" in capsys.readouterr().err
    assert (tmp_path / "out" / "notes.txt").exists() and (tmp_path / "out" / "model.py").exists()


def test_what_cannot_be_is_said_before_options_and_data(tmp_path, capsys):
    compiled("one-layer").save(tmp_path / "model")
    missing = str(tmp_path / "no such file.txt")
    out = ["--to", "gguf", "-o", str(tmp_path / "out")]
    assert main(["export", str(tmp_path / "model"), missing, *out]) == 2
    assert "llama.cpp runs stock" in capsys.readouterr().err
    for words in (["explain", "gpt2", missing], ["explain", "llama", missing, "--width", "64"]):
        assert main(words) == 2
        assert "of a stock checkpoint" in capsys.readouterr().err


def test_what_a_killed_export_left_is_removed_by_the_next(tmp_path, monkeypatch):
    model = compiled("float64 of numbers")
    child = os.fork()
    if not child:
        monkeypatch.setattr(os, "rename", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        export(model, "torch", tmp_path / "out")
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".part") and (left / "model.py").exists()
    export(model, "torch", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_package_that_is_missing_is_one_sentence(monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(raw, "import_module", absent)
    for name, extra in packages.EXTRAS.items():
        with pytest.raises(ByheartError, match=re.escape(f"not installed; run: {remedy(extra)}")):
            packages.package(name, "this")


def test_the_command(tmp_path, capsys):
    rows = [{"input": list("ab"), "label": "x"}, {"input": list("bb"), "label": "y"}]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = tmp_path / "m"
    made = ["compile", str(data), "--method", "float64", "-o", str(folder), "--write-data"]
    assert main(made) == 0
    capsys.readouterr()
    out = tmp_path / "out"
    assert main(["export", str(folder), "--to", "torch", "-o", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)  # on data.jsonl of the folder
    assert answer["verified"] == {"checked": 2, "correct": 2, "evidence": "observed"}
    assert answer["output"] == str(out) and "model.py" in answer["files"] and answer["holds"]
    assert main(["export", str(folder), "--to", "torch", "-o", str(out)]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["export", str(folder), "--to", "paper", "-o", str(tmp_path / "p")]) == 2
    assert "--to must be one of torch" in capsys.readouterr().err
    (folder / "data.jsonl").unlink()
    assert main(["export", str(folder), "--to", "torch", "-o", str(tmp_path / "q")]) == 0
    assert "so nothing was run" in capsys.readouterr().out
    assert main(["export", str(folder), str(data), "--to", "onnx", "-o", str(tmp_path / "r")]) == 0
    assert "observed  2 of 2 labels right in onnxruntime" in capsys.readouterr().out
