"""What cannot be audited is refused in one sentence, before anything is computed or executed."""

import json
import shutil

import numpy as np
import pytest

from byheart.auditing.audit import audit
from byheart.cli import main
from byheart.errors import ByheartError
from byheart.views.audit import lines

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
BIN = {"separator": 65_535}


@pytest.fixture
def copy(checkpoint, tmp_path):
    """A copy of a checkpoint that a test may damage."""

    def make(family="gpt2", **options):
        return shutil.copytree(checkpoint(family, **options), tmp_path / "copy")

    return make


def edited(folder, **changes):
    path = folder / "config.json"
    config = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({k: x for k, x in config.items() if x is not ...}))
    return folder


def refused(folder, data, sentence, **options):
    with pytest.raises(ByheartError, match=sentence):
        audit(folder, data, loading=BIN, **options)


def test_folders_that_are_none(tmp_path, ids, random_rows, copy):
    data = ids(random_rows(2))
    refused(tmp_path / "nowhere", data, "does not exist")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", data, "has no config.json")
    folder = copy()
    refused(folder, folder, "same path")
    (folder / "config.json").write_text("[1")
    refused(folder, data, "is not a config")


def test_architectures_that_are_not_known(copy, ids, random_rows):
    folder, data = copy(), ids(random_rows(2))
    refused(edited(folder, model_type="mystery"), data, "'mystery'.*code that comes with a model")
    refused(edited(folder, model_type=...), data, "names no model_type")


def test_no_code_of_a_folder_is_run(copy, ids, random_rows, tmp_path):
    """Transformers has a class of its own for a model that brings one: that is what is measured."""
    plain, data = copy(), ids(random_rows(2))
    folder = shutil.copytree(plain, tmp_path / "own")
    for name in ("evil.py", "custom_generate/generate.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass C: pass\n")
    named = {"AutoModelForCausalLM": "evil.C", "AutoConfig": "evil.C", "AutoTokenizer": ["evil.D"]}
    edited(folder, auto_map=named)
    answer = audit(folder, data, loading=BIN)
    assert answer.code_length == audit(plain, data, loading=BIN).code_length
    assert answer.model.code == ("evil.C", "evil.D") and answer.model.unread == ("evil.py",)
    assert answer.notes[0].startswith("the code that comes with the model (auto_map) was not run")
    assert ("not run", "2 classes", "evil.C, evil.D") in lines(answer)
    refused(edited(folder, auto_map=named, model_type="evil"), data, "is not run")
    assert not (tmp_path / "ran").exists()


def test_pickles_are_refused_with_the_way_out(copy, ids, random_rows):
    folder = copy()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refused(folder, ids(random_rows(2)), "pytorch_model.bin, a pickle.*save_pretrained")
    (folder / "pytorch_model.bin").unlink()
    refused(folder, ids(random_rows(2)), "has no model.safetensors")


def test_adapters_and_models_of_too_many_layers(copy, ids, random_rows):
    folder = copy()
    refused(edited(folder, n_layer=10**5), ids(random_rows(2)), "at most 1,000 layers")
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "somewhere/else"}')
    refused(folder, ids(random_rows(2)), "holds an adapter.*folder of its own")


def test_an_index_names_files_of_its_folder(copy, ids, random_rows):
    folder = copy("llama", scale=2.0, max_shard_size="8KB")
    index = folder / "model.safetensors.index.json"
    content = json.loads(index.read_text())
    name = next(iter(content["weight_map"]))
    content["weight_map"][name] = "../elsewhere.safetensors"
    index.write_text(json.dumps(content))
    refused(folder, ids(random_rows(2)), "not a file of its folder")
    content["weight_map"][name] = "absent.safetensors"
    index.write_text(json.dumps(content))
    refused(folder, ids(random_rows(2)), "lacks absent.safetensors")


def test_weights_that_are_damaged(copy, ids, random_rows):
    from safetensors.torch import load_file, save_file

    folder, data = copy(), ids(random_rows(2))
    path = folder / "model.safetensors"
    tensors = load_file(path)
    whole = path.read_bytes()
    tensors["transformer.wpe.weight"][0, 0] = float("nan")
    save_file(tensors, path, metadata={"format": "pt"})
    refused(folder, data, "transformer.wpe.weight holds infinity or NaN")
    del tensors["transformer.wpe.weight"]
    save_file(tensors, path, metadata={"format": "pt"})
    refused(folder, data, "lacks 1 of the tensors")
    path.write_bytes(whole[: len(whole) // 2])
    refused(folder, data, "cannot be loaded")
    path.write_bytes(whole)
    refused(edited(folder, n_embd=10**6), data, "describes [0-9,]+ parameters")


def test_data_that_the_model_cannot_read(checkpoint, tokenized, ids, tmp_path):
    folder = checkpoint("gpt2")
    refused(folder, ids([[1, 99, 2]]), "holds the token 99 outside the vocabulary")
    refused(folder, ids([[98, 99, 98]]), "has no token in the vocabulary")
    refused(folder, ids([[1] * 26]), "has 26 tokens, and the model reads at most 24")
    assert audit(folder, ids([[1] * 26]), loading={**BIN, "length": 25}).data.cut == 1
    refused(folder, ids([[1], [2]]), "no item of two tokens")
    text = tmp_path / "text.txt"
    text.write_text("w1 w2 w3\n")
    with pytest.raises(ByheartError, match="has no tokenizer, and text needs one"):
        audit(folder, text)
    text.write_text("these words are unknown\n")
    with pytest.raises(ByheartError, match="no token in the vocabulary"):
        audit(tokenized, text)
    with pytest.raises(ByheartError, match="own tokenizer splits the text"):
        audit(tokenized, text, loading={"unit": "char"})
    table = tmp_path / "vectors.npz"
    np.savez(table, inputs=np.ones((2, 3, 2)), labels=np.array([0, 1]))
    with pytest.raises(ByheartError, match="reads text or token ids"):
        audit(folder, table)
    np.savez(table, inputs=np.ones((2, 30), int), labels=np.ones((2, 30), int))
    with pytest.raises(ByheartError, match="has 31 tokens"):
        audit(folder, table)
    assert audit(folder, table, loading={"length": 20}).data.cut == 22
    np.savez(table, inputs=np.ones((2, 3), int), labels=np.ones(2, int))
    with pytest.raises(ByheartError, match="would cut off the labels"):
        audit(folder, table, loading={"length": 2})
    assert not audit(folder, table).data.text
    np.savez(table, inputs=np.ones((2, 3), int), labels=np.zeros((2, 3), int))
    with pytest.raises(ByheartError, match="is not the next token"):
        audit(folder, table)


def test_options_that_do_not_fit(checkpoint, ids, random_rows, tmp_path):
    folder, data = checkpoint("gpt2"), ids(random_rows(2))
    refused(folder, data, "prefix must be", prefix=0)
    refused(folder, data, "there is no device", device="nonsense")
    refused(folder, data, "does not exist", reference="nowhere")
    refused(folder, data, "seed must be", seed=-1)


def test_the_command_says_one_sentence_and_exits_with_2(checkpoint, ids, tmp_path, capsys):
    data = ids([[1, 99, 2]])
    flags = ["--separator", "65535", "--items", str(tmp_path / "items.csv")]
    assert main(["audit", str(checkpoint("gpt2")), str(data), *flags]) == 2
    told = capsys.readouterr()
    assert not told.out and told.err.count("\n") == 1 and "outside the vocabulary" in told.err
    assert not (tmp_path / "items.csv").exists()
