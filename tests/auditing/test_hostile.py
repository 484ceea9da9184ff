"""Folders that were made to mislead an audit: one sentence each, and no pickle is opened."""

import builtins
import hashlib
import io
import json
import os
import pickle
import shutil
import struct

import pytest

import byheart
from byheart.auditing.audit import audit
from byheart.errors import ByheartError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TEXTS = ["w1 w2 w3 w4", "w5 w6 w7"]
WEIGHTS = "model.safetensors"


class Code:
    """A pickle that leaves a file behind when it is loaded."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


@pytest.fixture
def folder(tokenized, tmp_path):
    return shutil.copytree(tokenized, tmp_path / "copy")


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def config(**changes):
    return lambda folder: edit(folder / "config.json", **changes)


def tokenizer_config(**changes):
    return lambda folder: edit(folder / "tokenizer_config.json", **changes)


def tokenizer(**changes):
    return lambda folder: edit(folder / "tokenizer.json", **changes)


def prefixed(folder):
    """Merges whose second parts lack the prefix of parts inside words: tokenizers panics."""
    pairs = {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False}
    pairs |= {"continuing_subword_prefix": "#####", "end_of_word_suffix": None}
    pairs |= {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}
    edit(folder / "tokenizer.json", model=pairs)


def beside(name, content=b"{}"):
    return lambda folder: (folder / name).write_bytes(content)


def header(content, length=None):
    size = struct.pack("<Q", len(content) if length is None else length)
    return beside(WEIGHTS, size + content)


def link(name, to="/dev/zero"):
    def change(folder):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(to)

    return change


def pipe(name):
    def change(folder):
        (folder / name).unlink(missing_ok=True)
        (folder / name).parent.mkdir(exist_ok=True)
        os.mkfifo(folder / name)

    return change


def elsewhere(folder):
    (folder / WEIGHTS).unlink()
    index = {"metadata": {}, "weight_map": {"a": "../../../etc/passwd.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def other_weights(folder):
    shutil.copy(folder / WEIGHTS, folder / "other.safetensors")
    edit(folder / "config.json", transformers_weights="other.safetensors")


def pickled_weights(folder):
    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Code(folder / "ran")))


def redirected_pickle(folder):
    (folder / "other.bin").write_bytes(pickle.dumps(Code(folder / "ran")))
    edit(folder / "config.json", transformers_weights="other.bin")


KERNEL = "_implementation with a slash"
GROWING = {"type": "Replace", "pattern": {"String": "w"}, "content": "w" * 100_000}
SLOW = {
    "type": "Split", "pattern": {"Regex": r"(a|a|a|aa)*b(?=(x+x+)+y)|(\S+\s*)+!"},
    "behavior": "Isolated", "invert": False,
}  # fmt: skip
LONG = ["a" * 4000 + " " + "word " * 2000]
REFUSED = {
    "other weights": (other_weights, "has the key transformers_weights"),
    "another pickle": (redirected_pickle, "has the key transformers_weights"),
    "pickle alone": (pickled_weights, "holds pytorch_model.bin, a pickle"),
    "another config": (config(configuration_files=["config.4.0.0.json"]), "configuration_files"),
    "another tokenizer": (
        tokenizer_config(fast_tokenizer_files=["tokenizer.4.0.0.json"]), "fast_tokenizer_files",
    ),
    "merges without their prefix": (prefixed, "cannot be read .the merge .* does not go on with"),
    "adapter": (beside("adapter_config.json"), r"an adapter \(adapter_config.json\)"),
    "adapter weights": (beside("adapter_model.bin"), r"an adapter \(adapter_model.bin\)"),
    "adapter tensors": (beside("adapter_model.safetensors"), "adapter_model.safetensors"),
    "two lists of weights": (beside("model.safetensors.index.json"), "of which a library loads"),
    "layers": (config(n_layer=10**6), "at most 1,000 layers"),
    "width": (config(n_embd=2**30, n_head=1), "cannot be loaded: Storage size"),
    "negative width": (config(n_embd=-64), "cannot be loaded"),
    "vocabulary": (config(vocab_size=2**31), "describes [0-9,]+ parameters"),
    "positions": (config(n_positions=2**40), "describes [0-9,]+ parameters"),
    "header of 2^62 bytes": (header(b"{}" + bytes(10_000), 2**62), "cannot be loaded"),
    "deep header": (header(b'{"a":' + b"[" * 100_000), "cannot be loaded"),
    "deep config": (beside("config.json", b'{"a":' + b"[" * 100_000), "is not a config"),
    "quantisation not installed": (
        config(quantization_config={"quant_method": "aqlm"}), "quantization_config.*'aqlm'",
    ),
    "quantisation by bitsandbytes": (
        config(quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True}),
        "quantization_config.*'bitsandbytes'.*not installed",
    ),
    "quantisation unknown": (
        config(quantization_config={"quant_method": "../../x"}), "quantization_config.*not known",
    ),
    "quantisation inside": (
        config(text_config={"quantization_config": {"quant_method": "x"}}), "quantization_config",
    ),
    "quantisation is a list": (config(quantization_config=[1]), "quantization_config.*not known"),
    "kernel": (config(attn_implementation="kernels-community/flash-attn"), f"attn{KERNEL}"),
    "hidden kernel": (config(_attn_implementation="evil/kernel"), f"_attn{KERNEL}"),
    "index elsewhere": (elsewhere, "not a file of its folder"),
    "weights without end": (link(WEIGHTS), "'model.safetensors', which is not a regular file"),
    "tokenizer without end": (link("tokenizer.json"), "'tokenizer.json', which is not a regular"),
    "link to nothing": (link("vocab.json", "nowhere"), "'vocab.json', which is not a regular"),
    "config is a pipe": (pipe("config.json"), "has no config.json"),
    "generation is a pipe": (pipe("generation_config.json"), "'generation_config.json', which"),
    "template is a pipe": (pipe("additional_chat_templates/a.jinja"), "'a.jinja', which is not"),
    "escape": (config(model_type="\x1b[2Jgpt2"), r"model_type '\\x1b\[2Jgpt2'"),
    "number type": (config(dtype="__class__"), "cannot be loaded"),
    "whole numbers": (config(dtype="int8"), "cannot be loaded"),
    "layers that differ": (config(per_layer_config={"0": {"n_inner": 3}}), "cannot be loaded"),
    "a config inside": (config(text_config={"x": 1}), "cannot be loaded"),
    "untied": (config(tie_word_embeddings=False), "lacks 1 of the tensors.*lm_head.weight"),
    "texts that grow": (tokenizer(normalizer=GROWING), "no token in the vocabulary"),
    "slow expression": (tokenizer(pre_tokenizer=SLOW), "no token in the vocabulary"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_mislead_is_refused_by_name(case, folder):
    change, sentence = REFUSED[case]
    change(folder)
    with pytest.raises(ByheartError, match=sentence) as refusal:
        audit(folder, LONG if case == "slow expression" else TEXTS, prefix=1)
    words = str(refusal.value)
    assert "\n" not in words and words.isprintable() and words.endswith(".")
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("name", ["first", "second"])
def test_the_reference_keeps_the_same_rule(name, folder, tokenized):
    other_weights(folder)
    models = (folder, tokenized) if name == "first" else (tokenized, folder)
    with pytest.raises(ByheartError, match="has the key transformers_weights"):
        audit(models[0], TEXTS, prefix=1, reference=models[1])


def test_a_trainer_s_pickles_are_named_and_not_opened(folder, monkeypatch):
    names = ("optimizer.pt", "pytorch_model.bin", "rng_state.pth", "training_args.bin")
    whole = audit(folder, TEXTS, prefix=1)
    for name in names:
        (folder / name).write_bytes(pickle.dumps(Code(folder / "ran")))
    opened, plain = [], builtins.open

    def watching(path, *given, **named):
        opened.append(os.path.basename(os.fsdecode(path)) if not isinstance(path, int) else "")
        return plain(path, *given, **named)

    for module in (builtins, io):
        monkeypatch.setattr(module, "open", watching)
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("a pickle is loaded"))
    answer = audit(folder, TEXTS, prefix=1)
    monkeypatch.undo()
    assert "config.json" in opened and not set(names) & set(opened)
    assert answer.model.unread == names and not (folder / "ran").exists()
    assert answer.code_length == whole.code_length and whole.model.unread == ()


@pytest.mark.parametrize(
    ("change", "classes"),
    [
        (config(auto_map={"AutoConfig": "evil.C"}), ("evil.C",)),
        (config(auto_map={"AutoConfig": "some/where--evil.C"}), ("some/where--evil.C",)),
        (config(auto_map={"AutoModelForCausalLM": "e.C", "AutoModel": "e.D"}), ("e.C", "e.D")),
        (tokenizer_config(auto_map={"AutoTokenizer": ["evil.C", None]}), ("evil.C",)),
        (tokenizer_config(auto_map={"AutoTokenizer": [None, "evil.C"]}), ("evil.C",)),
        (tokenizer_config(auto_map=["evil.C", "evil.D"]), ("evil.C", "evil.D")),
    ],
)  # fmt: skip
def test_code_of_the_folder_is_named_and_not_run(folder, change, classes, monkeypatch):
    plain = audit(folder, TEXTS, prefix=1)
    code = f"import os\nos.mkdir({str(folder / 'ran')!r})\nclass C: pass\n"
    for name in ("evil.py", "e.py"):
        (folder / name).write_text(code)
    change(folder)
    modules = transformers.dynamic_module_utils
    monkeypatch.setattr(modules, "get_imports", lambda *_: pytest.fail("code is looked at"))
    answer = audit(folder, TEXTS, prefix=1)
    assert answer.code_length == plain.code_length and not (folder / "ran").exists()
    assert (answer.model.code, plain.model.code) == (classes, ())
    assert "was not run" in answer.notes[0] and "was not run" not in plain.notes[0]


def test_the_answer_names_what_was_loaded(folder, checkpoint):
    digest = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    model = audit(folder, TEXTS, prefix=1).json()["model"]
    assert model["weights"] == [{"file": WEIGHTS, "sha256": digest}]
    assert model["dtype"] == "float32"
    edit(folder / "config.json", dtype="bfloat16")  # the config decides, not the file
    model = audit(folder, TEXTS, prefix=1).model
    assert model.dtype == "bfloat16" and model.stored_bits == 16 * model.parameters


def test_tokens_that_make_up_another_text_are_counted(folder):
    """A tokenizer may take every word for one that the model recites."""
    words = "make up another text"
    assert not any(words in note for note in audit(folder, TEXTS, prefix=1).notes)
    one = {"type": "Replace", "pattern": {"Regex": r"w\d+"}, "content": "w1"}
    tokenizer(normalizer=one)(folder)
    note = audit(folder, TEXTS, prefix=1).notes[0]
    assert f"the tokens of {len(TEXTS)} texts of the data {words}" in note


def test_links_into_a_cache_are_followed(folder, tmp_path):
    (folder / WEIGHTS).rename(tmp_path / "blob")
    (folder / WEIGHTS).symlink_to(tmp_path / "blob")
    assert audit(folder, TEXTS, prefix=1).model.weights[0].file == WEIGHTS


def test_a_compiled_folder_passes_the_closed_list_of_verify(tmp_path):
    path = tmp_path / "facts.jsonl"
    path.write_text('{"prompt": "The capital of Peru is", "answer": "Lima"}\n')
    columns = {"input": ["prompt"], "label": "answer"}
    facts = byheart.load(path, **columns, tokenizer="bpe:300")
    byheart.compile(facts, "gpt2").save(tmp_path / "model")
    assert audit(tmp_path / "model", path, loading=columns).extraction.verbatim == 1
    (tmp_path / "model" / "added_tokens.json").write_text("{}")
    with pytest.raises(ByheartError, match="'added_tokens.json'.*not part of a model that byheart"):
        audit(tmp_path / "model", path, loading=columns)
