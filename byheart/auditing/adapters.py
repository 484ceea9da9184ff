"""LoRA adapters in the format of peft, read without that library: W + scale B A for every pair.

The folder comes from anywhere: its config and adapter_model.safetensors are read and nothing else,
no base that it names is followed, and whatever would make another sum of it is refused by name.
"""

import json
import math
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ByheartError
from ..machine.strict import shown
from . import closed
from .closed import WeightsFile

CONFIG, WEIGHTS = closed.ADAPTER_CONFIG, "adapter_model.safetensors"
LARGEST_RANK, LARGEST_SCALE = 1 << 16, 1e6
PAIR = re.compile(r"base_model\.model\.(.{1,400})\.lora_([AB])\.weight")
PLAIN = re.compile(r"[\w.]{1,400}")  # of a pattern: a name, and no expression that takes long
# Keys that may have a value without changing the sum; others must be empty or false.
KNOWN = {
    "alpha_pattern", "auto_mapping", "base_model_name_or_path", "fan_in_fan_out", "inference_mode",
    "init_lora_weights", "lora_alpha", "lora_dropout", "megatron_core", "peft_type", "peft_version",
    "qalora_group_size", "r", "rank_pattern", "revision", "target_modules", "task_type",
    "use_rslora",
}  # fmt: skip
PLAIN_STARTS = (True, False, None, "gaussian", "orthogonal")  # others change the base, too
MERGE = "merge it where you trust it: merge_and_unload() of peft, then save_pretrained"


@dataclass(frozen=True)
class AuditedAdapter:
    folder: str
    rank: int  # the largest of its matrices
    matrices: int
    parameters: int
    stored_bits: int
    weights: tuple[WeightsFile, ...]


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter and no model of its own."""
    return os.path.lexists(folder / CONFIG) and not os.path.lexists(folder / closed.CONFIG)


def refuse_bare(folder: Path, command: str) -> None:
    """ByheartError with the command for a folder that is only an adapter."""
    if is_adapter(folder):
        base = closed.json_object(folder / CONFIG).get("base_model_name_or_path")
        says = f" (it says that of {shown(base)})" if isinstance(base, str) and base else ""
        raise ByheartError(
            f"{folder} is an adapter, not a whole model; name its base{says} first: "
            f"byheart {command.format(adapter=shlex.quote(str(folder)))}."
        )


def added(model: Any, folder: Path) -> AuditedAdapter:
    """Add an adapter to the weights of a model of transformers; ByheartError says what is wrong."""
    import torch
    from safetensors.torch import load_file

    config = _config(folder)
    path = folder / WEIGHTS
    try:
        tensors = load_file(path)
    except Exception as error:  # whatever a damaged file makes of a library
        reason = " ".join(str(error).split())[:160]
        raise ByheartError(f"{path} cannot be loaded: {reason}.") from None
    pairs: dict[str, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        found = PAIR.fullmatch(name)
        if found is None:
            raise ByheartError(
                f"{path} holds {shown(name)}, which is not a matrix of LoRA for a linear map; "
                f"{MERGE}."
            )
        if tensor.dim() != 2 or not tensor.is_floating_point() or not tensor.isfinite().all():
            raise ByheartError(f"{path}: {shown(name)} is not a matrix of finite numbers.")
        pairs.setdefault(found[1], {})[found[2]] = tensor
    if not pairs:
        raise ByheartError(f"{path} holds no tensor.")
    modules, shared = dict(model.named_modules()), model.get_input_embeddings().weight
    sums = []
    for name, pair in pairs.items():
        module = modules.get(name)
        weight = getattr(module, "weight", None)
        where = f"{path}: {shown(name)}"
        if weight is None or weight.dim() != 2 or isinstance(module, torch.nn.Embedding):
            raise ByheartError(f"{where} is not a linear map of the base; give the adapter's own.")
        ends = config.get("target_modules")  # a library passes over the tensors of other maps
        if ends == "all-linear":
            ends = [name] if module is not model.get_output_embeddings() else []
        if type(ends) is not list or not any(f".{name}".endswith(f".{x}") for x in ends):
            raise ByheartError(f"{where} is not in the list target_modules of {CONFIG}; {MERGE}.")
        if weight is shared:
            raise ByheartError(f"{where} shares its weights with the embedding; {MERGE}.")
        if set(pair) != {"A", "B"}:
            raise ByheartError(f"{where} lacks one of its two matrices.")
        transposed = not isinstance(module, torch.nn.Linear)  # Conv1D keeps W transposed
        inputs, outputs = weight.shape if transposed else weight.shape[::-1]
        rank = pair["A"].shape[0]
        if pair["A"].shape != (rank, inputs) or pair["B"].shape != (outputs, rank):
            raise ByheartError(
                f"{where} has matrices of {tuple(pair['A'].shape)} and {tuple(pair['B'].shape)}, "
                f"and the base maps {inputs} numbers to {outputs}; give the adapter's own base."
            )
        scale = _scale(config, name, rank, where)
        change = scale * (pair["B"].double() @ pair["A"].double())
        sums.append((weight, change.T if transposed else change, rank))
    with torch.no_grad():
        for weight, change, _ in sums:
            weight.copy_(weight.double() + change)
    numbers = list(tensors.values())
    return AuditedAdapter(
        str(folder),
        max(rank for *_, rank in sums),
        len(sums),
        sum(x.numel() for x in numbers),
        sum(x.numel() * x.element_size() * 8 for x in numbers),
        closed.hashed([path]),
    )


def _config(folder: Path) -> dict[str, Any]:
    """The adapter_config.json, if everything in it is understood."""
    if not folder.is_dir():
        word = "is not a directory" if folder.exists() else "does not exist"
        raise ByheartError(f"{folder} {word}; give the folder of an adapter on this disk.")
    closed.check_entries(folder)
    path = folder / CONFIG
    if not path.is_file():
        raise ByheartError(f"{folder} has no {CONFIG}; give a folder as peft writes it.")
    config = closed.json_object(path)
    if config.get("peft_type") != "LORA":
        raise ByheartError(
            f"{path}: the adapter is of the type {shown(config.get('peft_type'))}, and only LORA "
            f"is read; {MERGE}."
        )
    for key, value in config.items():
        if key == "bias" and value == "none":
            continue
        if key == "init_lora_weights" and not any(value is x or value == x for x in PLAIN_STARTS):
            raise ByheartError(f"{path}: {key} {shown(value)} changes the base, too; {MERGE}.")
        if (value or type(value) is int) and key not in KNOWN:
            raise ByheartError(
                f"{path} has the key {shown(key)} with a value, which is not added here; {MERGE}."
            )
    if not (folder / WEIGHTS).is_file():
        pickles = [x for x in os.listdir(folder) if x.endswith(closed.PICKLES)]
        also = f" {shown(pickles[0])} is a pickle, which may run any code." if pickles else ""
        raise ByheartError(f"{folder} has no {WEIGHTS}; save the adapter as safetensors.{also}")
    return config


def _scale(config: dict[str, Any], name: str, rank: int, where: str) -> float:
    """What B A is multiplied by: alpha / rank, or alpha / sqrt(rank)."""
    found: dict[str, Any] = {}
    for key, pattern in (("r", "rank_pattern"), ("lora_alpha", "alpha_pattern")):
        own = config.get(pattern) or {}
        if not isinstance(own, dict) or not all(map(PLAIN.fullmatch, own)):
            raise ByheartError(f"{where}: {pattern} holds more than names of maps; {MERGE}.")
        matching = [value for x, value in own.items() if re.fullmatch(rf"(.*\.)?{x}", name)]
        value: Any = matching[0] if matching else config.get(key)
        if type(value) not in (int, float) or not 0 < abs(value) <= LARGEST_SCALE:
            raise ByheartError(f"{where}: {key} is {shown(value)}, not a number that scales.")
        found[key] = value
    if found["r"] != rank or rank > LARGEST_RANK:
        raise ByheartError(
            f"{where} has matrices of rank {rank}, and its config says {json.dumps(found['r'])}."
        )
    return found["lora_alpha"] / (math.sqrt(rank) if config.get("use_rslora") else rank)
