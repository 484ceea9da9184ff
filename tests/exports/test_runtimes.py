"""verify --runtime, and folders in which something was changed."""

import hashlib
import json
import shutil
from functools import partial

import numpy as np
import pytest

from byheart.cli import main
from byheart.data.load import from_rows, load
from byheart.errors import ByheartError
from byheart.exports import onnx_graph
from byheart.exports.exporting import export
from byheart.exports.runtimes import observe
from byheart.models.opening import open as open_folder
from byheart.stock.prove import reads

from .conftest import FLAGS, READING

pytest.importorskip("torch")
pytest.importorskip("transformers")


def add(more, values):
    values.update(more)


def held(model, facts):
    return reads(model, load(facts, **READING))


def test_the_command_observes(folder, facts, capsys):
    asked = ["verify", str(folder), str(facts), *FLAGS, "--runtime", "transformers", "--json"]
    assert main(asked) == 1  # observed is not proved
    assert json.loads(capsys.readouterr().out)["verified"]["evidence"] == "observed"
    assert main([*asked, "--accept", "observed"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["verified"]["correct"] == answer["verified"]["checked"] > 9
    assert answer["runtime"]["name"] == "transformers" and answer["runtime"]["dtype"] == "float32"
    assert main([*asked[:-1], "--accept", "observed"]) == 0
    assert "right in transformers" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--runtime", "tpu"], "--runtime must be one of transformers, onnxruntime, llama.cpp"),
        (["--runtime", "transformers", "--sample", "3"], "leave out --sample"),
        (["--runtime", "transformers", "--checker"], "leave out --checker"),
    ],
)
def test_options_that_do_not_fit(checkpoints, facts, options, says, capsys):
    assert main(["verify", str(checkpoints["gpt2"]), str(facts), *FLAGS, *options]) == 2
    assert says in capsys.readouterr().err


def test_a_runtime_needs_data_and_a_stock_checkpoint(checkpoints, tmp_path, capsys):
    assert main(["verify", str(checkpoints["gpt2"]), "--runtime", "transformers"]) == 2
    assert "--runtime needs the data" in capsys.readouterr().err
    (tmp_path / "d.jsonl").write_text('{"input": ["a"], "label": "x"}\n')
    main(["compile", str(tmp_path / "d.jsonl"), "-o", str(tmp_path / "m")])
    capsys.readouterr()
    asked = ["verify", str(tmp_path / "m"), str(tmp_path / "d.jsonl"), "--runtime", "transformers"]
    assert main(asked) == 2
    assert "is for stock checkpoints" in capsys.readouterr().err


def test_onnx_runtime_recites(folder, facts, tmp_path):
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    model = open_folder(folder)
    data = held(model, facts)
    found = export(model, "onnx", tmp_path / "out", load(facts, **READING))
    assert found.verification.json() == {
        "checked": len(data), "correct": len(data), "evidence": "observed"
    }  # fmt: skip
    assert found.files == ("README.md", "model.onnx", "tokenizer.json")
    assert found.runtime["name"] == "onnxruntime" and found.runtime["dtype"] == "float32"
    import onnx

    made = onnx.load(tmp_path / "out" / "model.onnx")
    assert [(x.domain, x.version) for x in made.opset_import if not x.domain] == [
        ("", onnx_graph.OPSET)
    ]
    session = onnx_graph.loaded(tmp_path / "out" / "model.onnx")
    size = model.network.size("vocabulary")
    for shape in ((1, 1), (1, 7), (3, 1), (4, model.length)):  # any batch, any length
        assert session.run(np.zeros(shape, np.int64)).shape == (*shape, size)


def test_a_stock_folder_is_one_of_hugging_face_already(folder, facts, tmp_path):
    model = open_folder(folder)
    found = export(model, "huggingface", tmp_path / "out", load(facts, **READING))
    assert found.verification.evidence == "observed"
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "out" / name).read_bytes() == (folder / name).read_bytes()
    with pytest.raises(ByheartError, match="its folder is one of Hugging Face"):
        export(model, "torch", tmp_path / "module")


def test_other_models_have_other_words():
    from byheart.api.compile import compile

    data = from_rows([(["a"], "x"), (["b"], "y")])
    with pytest.raises(ByheartError, match="runtime=... is for stock checkpoints"):
        observe(compile(data), data, "transformers")


# --- changed folders


def changed(folder, place, name, change, hashes):
    """A copy with one file changed; with the hash of the new file in the certificate, or not."""
    shutil.copytree(folder, place)
    values = json.loads((place / name).read_text())
    change(values)
    (place / name).write_text(json.dumps(values))
    if hashes:
        certificate = json.loads((place / "certificate.json").read_text())
        digest = hashlib.sha256((place / name).read_bytes()).hexdigest()
        certificate["files"][name] = digest
        (place / "certificate.json").write_text(json.dumps(certificate))
    return place


def swap_merges(values):
    merges = values["model"]["merges"]
    merges[0], merges[-1] = merges[-1], merges[0]


def rotated(values, base):
    values["rope_theta"] = values["rope_parameters"]["rope_theta"] = base


MUTATIONS = [  # family, file, change, and whether the model still recites
    ("gpt2", "tokenizer.json", swap_merges, False),
    ("llama", "tokenizer.json", swap_merges, False),
    # it recites, and margins are no longer those that ground_truth.jsonl states
    ("gpt2", "config.json", lambda x: x.update(layer_norm_epsilon=2e-5), None),
    ("gpt2", "config.json", lambda x: x.update(layer_norm_epsilon=1e-3), None),
    ("gpt2", "config.json", lambda x: x.update(activation_function="gelu"), True),
    ("llama", "config.json", lambda x: x.update(rms_norm_eps=1e-3), None),
    ("llama", "config.json", lambda x: rotated(x, 10000.0), False),
    ("llama", "config.json", lambda x: rotated(x, 5.0), False),
]


@pytest.mark.parametrize(("family", "name", "change", "holds"), MUTATIONS)
def test_a_change_is_noticed(family, name, change, holds, checkpoints, facts, tmp_path, capsys):
    """By its hash; and with hashes made again, by the proof, unless the claim still holds."""
    asked = [str(facts), *FLAGS, "--json"]
    noticed = changed(checkpoints[family], tmp_path / "hash", name, change, hashes=False)
    assert main(["verify", str(noticed), *asked]) == 1
    assert f"sha256 of {name}" in capsys.readouterr().err
    folder = changed(checkpoints[family], tmp_path / "again", name, change, hashes=True)
    proved = main(["verify", str(folder), *asked]) == 0
    capsys.readouterr()
    runs = ["verify", str(folder), *asked, "--runtime", "transformers", "--accept", "observed"]
    recites = main(runs) == 0
    capsys.readouterr()
    assert recites or not proved  # nothing false is proved
    if holds is not None:
        assert recites == proved == holds


REFUSED = [  # a file, what is written there, and the name that the answer has
    ("config.json", {"attn_implementation": "x"}, "attn_implementation"),
    ("config.json", {"auto_map": "x"}, "auto_map"),
    ("config.json", {"quantization_config": "x"}, "quantization_config"),
    ("config.json", {"dtype": "bfloat16"}, "dtype"),
    ("generation_config.json", {"do_sample": True}, "do_sample"),
    ("generation_config.json", {"temperature": 2.0}, "temperature"),
    ("tokenizer_config.json", {"chat_template": "x"}, "chat_template"),
]


@pytest.mark.parametrize(("name", "more", "key"), REFUSED)
def test_keys_that_may_change_what_is_loaded_are_not_run(
    name, more, key, checkpoints, facts, tmp_path, capsys
):
    folder = changed(checkpoints["gpt2"], tmp_path / "m", name, partial(add, more), True)
    asked = ["verify", str(folder), str(facts), *FLAGS, "--runtime", "transformers"]
    assert main([*asked, "--accept", "observed"]) == 2
    told = capsys.readouterr().err
    assert name in told and key in told


def test_an_adapter_is_not_run(checkpoints, facts, tmp_path, capsys):
    folder = shutil.copytree(checkpoints["gpt2"], tmp_path / "m")
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    asked = ["verify", str(folder), str(facts), *FLAGS, "--runtime", "transformers"]
    assert main([*asked, "--accept", "observed"]) == 2
    assert "adapter_config.json" in capsys.readouterr().err
