"""LoRA adapters: W + scale B A as peft adds it, read without peft; hostile folders are refused."""

import json
import math
import os
import shutil

import pytest

import byheart
from byheart.auditing.audit import audit
from byheart.auditing.checkpoint import opened
from byheart.errors import ByheartError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
BIN = {"separator": 65_535}
CONFIG = {
    "peft_type": "LORA", "r": 2, "lora_alpha": 8, "lora_dropout": 0.1, "bias": "none",
    "target_modules": ["q_proj", "mlp.up_proj", "c_attn", "c_proj", "lm_head", "nowhere"],
    "base_model_name_or_path": "far/away", "task_type": "CAUSAL_LM", "use_dora": False,
    "modules_to_save": None, "init_lora_weights": True, "fan_in_fan_out": False,
}  # fmt: skip
LLAMA = {"model.layers.0.self_attn.q_proj": (16, 16), "model.layers.1.mlp.up_proj": (32, 16)}
GPT2 = {"transformer.h.0.attn.c_attn": (48, 16), "transformer.h.1.mlp.c_proj": (16, 64)}


def write(folder, maps, rank=2, **config):
    """An adapter as peft writes it, for maps to so many outputs from so many inputs."""
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)
    generator, tensors = torch.Generator().manual_seed(0), {}
    for name, (outputs, inputs) in maps.items():
        a, b = (torch.randn(x, generator=generator) for x in ((rank, inputs), (outputs, rank)))
        tensors[f"base_model.model.{name}.lora_A.weight"] = a
        tensors[f"base_model.model.{name}.lora_B.weight"] = b
    save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps(CONFIG | {"r": rank} | config))
    return tensors


@pytest.mark.parametrize(("family", "maps"), [("llama", LLAMA), ("gpt2", GPT2)])
@pytest.mark.parametrize("root", [False, True])
def test_the_sum_is_that_of_the_definition(family, maps, root, checkpoint, tmp_path):
    """GPT-2 keeps its maps transposed."""
    base = checkpoint(family, scale=4.0)
    tensors = write(tmp_path / "adapter", maps, use_rslora=root)
    plain, sum_ = (dict(opened(base, adapter=x).model.named_parameters()) for x in (
        None, tmp_path / "adapter"))  # fmt: skip
    scale = 8 / (math.sqrt(2) if root else 2)
    changed = {f"{name}.weight" for name in maps}
    assert {x for x in plain if not torch.equal(plain[x], sum_[x])} == changed
    for name in maps:
        a, b = (tensors[f"base_model.model.{name}.lora_{x}.weight"] for x in "AB")
        wanted = scale * (b @ a)
        found = sum_[f"{name}.weight"] - plain[f"{name}.weight"]
        assert torch.allclose(found.T if family == "gpt2" else found, wanted, atol=1e-4)


def test_patterns_of_rank_and_alpha(checkpoint, tmp_path):
    maps = {"model.layers.1.mlp.up_proj": (32, 16)}
    patterns = {"rank_pattern": {"up_proj": 2}, "alpha_pattern": {"layers.1.mlp.up_proj": 6}}
    tensors = write(tmp_path / "adapter", maps, **patterns)
    config = CONFIG | {"r": 7} | patterns
    (tmp_path / "adapter" / "adapter_config.json").write_text(json.dumps(config))
    one = opened(checkpoint("llama")).model
    two = opened(checkpoint("llama"), adapter=tmp_path / "adapter").model
    a, b = tensors.values()
    change = two.model.layers[1].mlp.up_proj.weight - one.model.layers[1].mlp.up_proj.weight
    assert torch.allclose(change, 3 * (b @ a), atol=1e-5)


def test_an_audit_of_a_base_and_its_adapter(checkpoint, ids, random_rows, tmp_path):
    """The reference is the base; a copy with the sum in it is measured alike; diff has the rank."""
    base, adapter = checkpoint("llama", scale=4.0), tmp_path / "adapter"
    write(adapter, LLAMA)
    data = ids(random_rows(6))
    found = audit(base, data, adapter=adapter, prefix=3, loading=BIN)
    opened(base, adapter=adapter).model.save_pretrained(tmp_path / "merged")
    merged = audit(tmp_path / "merged", data, reference=base, prefix=3, loading=BIN)
    assert found.code_length == pytest.approx(merged.code_length)
    assert found.reference.name == str(base) and found.memorised.bits == pytest.approx(
        merged.memorised.bits
    )
    one = found.model.adapter
    assert (one.rank, one.matrices, one.parameters) == (2, 2, 2 * (16 + 16 + 32 + 16))
    assert found.limits[0].bits == 2 * one.parameters  # what the base does not hold, it does
    (up, query) = sorted(byheart.diff(base, adapter).tensors, key=lambda x: -x.numbers)
    assert (up.rank, query.rank) == (2, 2) and up.name == "model.layers.1.mlp.up_proj.weight"


def test_a_bare_adapter_is_refused_with_the_command(checkpoint, ids, random_rows, tmp_path):
    write(tmp_path / "adapter", LLAMA)
    with pytest.raises(ByheartError, match="'far/away'.*byheart audit BASE DATA --adapter /"):
        audit(tmp_path / "adapter", ids(random_rows(2)), loading=BIN)
    with pytest.raises(ByheartError, match="byheart diff BASE /"):
        byheart.diff(tmp_path / "adapter", checkpoint("llama"))


class Code:
    def __reduce__(self):
        return os.mkdir, ("ran",)


def _config(**changes):
    def change(folder):
        path = folder / "adapter_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def _tensor(name, shape, value=1.0):
    def change(folder):
        from safetensors.torch import load_file, save_file

        path = folder / "adapter_model.safetensors"
        save_file(load_file(path) | {name: torch.full(shape, value)}, path)

    return change


def _pickle(folder):
    import pickle

    (folder / "adapter_model.safetensors").unlink()
    (folder / "adapter_model.bin").write_bytes(pickle.dumps(Code()))


def _pipe(folder):
    os.mkfifo(folder / "pipe")


def _cut(folder):
    path = folder / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])


Q = "base_model.model.model.layers.0.self_attn.q_proj"
HOSTILE = {
    "a pickle": (_pickle, "has no adapter_model.safetensors.*is a pickle"),
    "a pipe": (_pipe, "not a regular file"),
    "cut off": (_cut, "cannot be loaded"),
    "another type": (_config(peft_type="PREFIX_TUNING"), "'PREFIX_TUNING', and only LORA"),
    "dora": (_config(use_dora=True), "'use_dora' with a value"),
    "saved modules": (_config(modules_to_save=["lm_head"]), "'modules_to_save' with a value"),
    "bias": (_config(bias="all"), "'bias' with a value"),
    "an unknown key": (_config(evil={"a": 1}), "'evil' with a value"),
    "a changed base": (_config(init_lora_weights="pissa"), "changes the base, too"),
    "a slow pattern": (_config(alpha_pattern={"(a+)+$": 2}), "more than names of maps"),
    "no rank": (_config(r=None), "r is None, not a number"),
    "another rank": (_config(r=3), "of rank 2, and its config says 3"),
    "a map that is no target": (_config(target_modules=["up_proj"]), "q_proj' is not in the list"),
    "targets of an expression": (_config(target_modules="(a+)+"), "is not in the list"),
    "no targets": (_config(target_modules=None), "is not in the list"),
    "some layers": (_config(layers_to_transform=0), "'layers_to_transform' with a value"),
    "a map that is left out": (_config(exclude_modules=["q_proj"]), "'exclude_modules' with a"),
    "a point for any letter": (_config(alpha_pattern={"q.proj": True}), "lora_alpha is True"),
    "a huge scale": (_config(lora_alpha=1e300), "lora_alpha is 1e[+]300, not a number"),
    "a true scale": (_config(lora_alpha=True), "lora_alpha is True, not a number"),
    "not a number": (_tensor(f"{Q}.lora_A.weight", (2, 16), math.nan), "finite numbers"),
    "another shape": (_tensor(f"{Q}.lora_A.weight", (2, 15)), "the base maps 16 numbers to 16"),
    "an embedding": (_tensor("base_model.model.model.embed_tokens.lora_embedding_A", (2, 32)),
                     "not a matrix of LoRA"),
    "no such map": (_tensor("base_model.model.nowhere.lora_A.weight", (2, 16)), "not a linear map"),
    "one of two": (_tensor("base_model.model.lm_head.lora_A.weight", (2, 16)), "lacks one of its"),
    "a long name": (_tensor(f"base_model.model.{'x' * 999}.lora_A.weight", (1, 1)), "not a matrix"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_adapters(name, checkpoint, ids, random_rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    change, sentence = HOSTILE[name]
    write(tmp_path / "adapter", LLAMA)
    change(tmp_path / "adapter")
    with pytest.raises(ByheartError, match=sentence) as told:
        audit(checkpoint("llama"), ids(random_rows(2)), adapter=tmp_path / "adapter", loading=BIN)
    assert "\n" not in str(told.value) and len(str(told.value)) < 500
    assert not (tmp_path / "ran").exists()


def test_a_map_that_is_shared_with_the_embedding(checkpoint, ids, random_rows, tmp_path):
    write(tmp_path / "adapter", {"lm_head": (32, 16)})
    with pytest.raises(ByheartError, match="shares its weights with the embedding"):
        audit(checkpoint("gpt2"), ids(random_rows(2)), adapter=tmp_path / "adapter", loading=BIN)


def test_an_adapter_inside_a_model_is_not_added_in_silence(checkpoint, ids, random_rows, tmp_path):
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "model")
    write(folder, LLAMA)
    with pytest.raises(ByheartError, match="holds an adapter.*folder of its own, which adapter="):
        audit(folder, ids(random_rows(2)), loading=BIN)
