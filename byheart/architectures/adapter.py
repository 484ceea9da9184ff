"""LoRA adapters for an architecture: their parameters, and what these could hold.

A map from n to m numbers gets two matrices of rank r, with r (n + m) parameters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ByheartError, OptionError
from ..theory.information import ALLENZHU_2024, bits_held, morris_2025
from ..theory.papers import cited
from .description import Architecture

# names that libraries give the maps of a layer, and ours
TARGETS = {
    "q_proj": ("attention.query",), "k_proj": ("attention.key",), "v_proj": ("attention.value",),
    "o_proj": ("attention.out",), "gate_proj": ("gate",), "up_proj": ("hidden",),
    "down_proj": ("down",), "c_attn": ("attention.in",), "query_key_value": ("attention.in",),
    "c_fc": ("hidden",), "c_proj": ("attention.out", "down"), "dense": ("attention.out",),
    "dense_h_to_4h": ("hidden",), "dense_4h_to_h": ("down",),
}  # fmt: skip
EVERY = "all-linear"
GATED = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
LARGEST = 1 << 20  # rank
LAW = (
    "loss falls with the rank r and the length l of what is stored as C r^a l^-b + c; it is fitted "
    "to each model and task, so it has no number here"
)


@dataclass(frozen=True)
class Held:
    """What the parameters could hold: bits, facts, whether by counting, and whose law it is."""

    source: str
    kind: str  # "theorem", "rule_of_thumb" or "law"
    read: str  # "read", or "secondary" if only summaries of the source were
    bits: float | None
    facts: int | None  # of the bits that were asked for
    remark: str


@dataclass(frozen=True)
class AdapterSize:
    """An adapter of an architecture, and whether facts fit into it; None if none were given."""

    architecture: str
    rank: int
    targets: tuple[str, ...]
    matrices: int
    parameters: int
    share: float  # of the architecture's own parameters
    bits: int  # per parameter
    needed: float | None
    held: tuple[Held, ...]


def adapter_size(
    shape: Architecture,
    lora: int | str,
    targets: Sequence[str] | str | None,
    bits: int | None = None,
    facts: int | None = None,
    bits_per_fact: float | None = None,
) -> AdapterSize:
    """The size of an adapter, and what it could hold; lora is a rank, also as "rank=16"."""
    digits = re.fullmatch(r"(?:rank=)?([0-9]{1,7})", str(lora))
    rank = int(digits[1]) if digits else 0
    if not 1 <= rank <= LARGEST:
        raise OptionError("lora", lora, "must be a rank such as rank=16")
    if (facts is None) != (bits_per_fact is None):
        raise ByheartError("`facts=...` and `bits_per_fact=...` go together; give both.")
    for name, value in (("facts", facts), ("bits_per_fact", bits_per_fact)):
        if value is not None and not value > 0:
            raise OptionError(name, value, "must be more than 0")
    maps: dict[str, tuple[int, ...]] = {}
    there: dict[str, dict[str, tuple[int, ...]]] = {}
    gated = any(x.endswith(".attention.query.weight") for x in shape.tensors)
    for name, own in TARGETS.items():
        ends = tuple(f".{part}.weight" for part in own)
        found = {x: y for x, y in shape.tensors.items() if x.endswith(ends)}
        if found and (name in GATED) == gated:
            there[name] = found
    every = {x: y for found in there.values() for x, y in found.items()}
    if isinstance(targets, str):
        targets = targets.split(",")
    chosen = [name.strip() for name in targets or [EVERY]]
    for name in chosen:
        if name != EVERY and name not in there:
            takes = ", ".join([*there, EVERY]) if there else "none: its maps are not known here"
            raise OptionError("targets", name, f"must be maps of {shape.name}", takes)
        maps |= every if name == EVERY else there[name]
    if not maps:
        raise ByheartError(f"{shape.name} has no linear maps that an adapter could change.")
    parameters = sum(rank * (n + m) for n, m in maps.values())
    each = bits or 32
    needed = None if facts is None or bits_per_fact is None else facts * bits_per_fact

    def held(source: str, kind: str, read: str, value: float | None, remark: str) -> Held:
        many = None if value is None or bits_per_fact is None else int(value // bits_per_fact)
        return Held(source, kind, read, value, many, remark)

    rules = (("allenzhu2024", ALLENZHU_2024), ("morris2025", morris_2025(each)))
    rows = [
        held(f"{cited(paper)}, {rate:g} per parameter", "rule_of_thumb", "secondary",
             bits_held(parameters, rate), "measured on models trained whole, not on adapters")
        for paper, rate in rules
    ]  # fmt: skip
    counted = float(parameters * each)
    rows.append(held("stored bits", "theorem", "proved", counted, f"{each} bits per parameter"))
    rows.append(held("Xu et al. (2026), arXiv 2605.30260", "law", "secondary", None, LAW))
    return AdapterSize(
        shape.name, rank, tuple(chosen), len(maps), parameters, parameters / shape.parameters,
        each, needed, tuple(rows),
    )  # fmt: skip
