"""A thousand damaged stock checkpoints: who notices?

Small checkpoints of both families are damaged in one place, 500 times each. Every damage is judged
twice, by `byheart verify` and by the independent checker: with the certificate as it was, where the
hash of the file must give it away; and with the hash in the certificate made again, as somebody
would who wants to deceive, where nothing but the claim itself is left. Then

- a damage after which a run in float64 or float32 gives a wrong answer, or ground truth that was
  changed, makes the claim false, and both must say no;
- any other damage leaves the claim true as far as runs can tell. If it is then proved again, the
  proof is the argument that it is harmless.

A damage that makes the claim false and that one of the two proves is an error (`missed`).
The kinds of damage are the functions below.
"""

import contextlib
import hashlib
import io
import json
import shutil
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import byheart
from byheart.cli import main as command
from byheart.errors import ByheartError
from byheart.stock.forward import answers
from byheart.stock.prove import numbered, reads

from .report import ROOT, Options, table

sys.path.insert(0, str(ROOT / "checker"))
import check  # noqa: E402

FACTS = [("the red fox", "ran"), ("the old fox", "sat")]
LITTLE = 1.02  # times the smallest change of a weight that makes an answer wrong
EACH, SEED = 500, 0  # damages per family
STEPS = 30  # of the search for that change: doublings, and then halvings
Random = np.random.Generator


class Folder:
    """A copy of a checkpoint's folder that may be damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model = byheart.open(path)
        held = byheart.load(path / "data.jsonl")
        self.sequences, self.wanted = numbered(self.model, held)

    def wrong(self, network, kind: type = np.float64) -> bool:
        """Whether a run gives a wrong answer."""
        with np.errstate(all="ignore"):
            return bool((answers(network, self.sequences, kind) != self.wanted).any())

    def values(self, name: str) -> dict:
        return json.loads((self.path / name).read_text())

    def put(self, name: str, values: dict) -> None:
        (self.path / name).write_text(json.dumps(values))

    def store(self, name: str, place: tuple[int, ...], value: float) -> None:
        """Write one weight into the file."""
        file = self.path / "model.safetensors"
        content = bytearray(file.read_bytes())
        size = int.from_bytes(content[:8], "little")
        entry = json.loads(content[8 : 8 + size])[name]
        at = (
            8
            + size
            + entry["data_offsets"][0]
            + 4 * int(np.ravel_multi_index(place, entry["shape"]))
        )
        content[at : at + 4] = struct.pack("<f", value)
        file.write_bytes(content)

    def sign(self) -> None:
        """The hashes of all files, made again."""
        certificate = self.values("certificate.json")
        for name in certificate["files"]:
            content = (self.path / name).read_bytes()
            certificate["files"][name] = hashlib.sha256(content).hexdigest()
        self.put("certificate.json", certificate)


# --- damages: each changes a folder, and says whether the claim is false because of it (None: ask
# the runs)


def weight(folder: Folder, random: Random, share: float) -> bool | None:
    """One weight, changed by this share of the smallest change that makes an answer wrong."""
    network = folder.model.network
    names = sorted(network.tensors)
    while True:
        name = names[random.integers(len(names))]
        tensor = network.tensors[name]
        if not tensor.any():
            continue
        # a zero that is none any more would be noticed by the count of them
        places = np.argwhere(tensor)
        place = tuple(places[random.integers(len(places))].tolist())
        sign = random.choice([-1.0, 1.0])

        def changed(by: float, name=name, tensor=tensor, place=place, sign=sign):
            other = tensor.copy()
            other[place] = np.float32(other[place] + sign * by)
            return replace(network, tensors={**network.tensors, name: other}), float(other[place])

        low, high = 0.0, max(1e-3, float(np.abs(tensor).max()) / 64)
        for _ in range(STEPS // 2):
            if folder.wrong(changed(high)[0]):
                break
            low, high = high, 2 * high
        # if no change of this size matters, the proof must say so
        if folder.wrong(changed(high)[0]):
            for _ in range(STEPS // 2):
                middle = (low + high) / 2
                low, high = (low, middle) if folder.wrong(changed(middle)[0]) else (middle, high)
        _, value = changed(high * share)
        if np.isfinite(value) and value not in (0.0, float(tensor[place])):
            folder.store(name, place, value)
            return None


def weight_above(folder: Folder, random: Random) -> bool | None:
    return weight(folder, random, LITTLE)


def weight_below(folder: Folder, random: Random) -> bool | None:
    return weight(folder, random, 0.5)


def weight_bit(folder: Folder, random: Random) -> bool | None:
    """One bit among the weights."""
    file = folder.path / "model.safetensors"
    content = bytearray(file.read_bytes())
    begin = 8 + int.from_bytes(content[:8], "little")
    content[random.integers(begin, len(content))] ^= 1 << random.integers(8)
    file.write_bytes(content)
    return None


def other_bit(folder: Folder, random: Random) -> bool | None:
    """One bit of another file, or of the header of the weights."""
    names = [*folder.values("certificate.json")["files"]]
    name = names[random.integers(len(names))]
    file = folder.path / name
    content = bytearray(file.read_bytes())
    most = len(content)
    if name == "model.safetensors":
        most = 8 + int.from_bytes(content[:8], "little")
    content[random.integers(most)] ^= 1 << random.integers(8)
    file.write_bytes(content)
    return None


def merge(folder: Folder, random: Random) -> bool | None:
    """Two merges of the tokenizer, exchanged."""
    values = folder.values("tokenizer.json")
    merges = values["model"]["merges"]
    i, j = random.choice(len(merges), 2, replace=False)
    merges[i], merges[j] = merges[j], merges[i]
    folder.put("tokenizer.json", values)
    return None


def config(folder: Folder, random: Random) -> bool | None:
    """One value of the configuration."""
    values = folder.values("config.json")
    if values["model_type"] == "gpt2":
        changes = {
            "layer_norm_epsilon": float(10.0 ** random.uniform(-11, -3)),
            "activation_function": ["gelu", "relu", "silu"][random.integers(3)],
            "n_head": int(random.choice([1, 2, 4, 12, 16])),
            "scale_attn_weights": False,
            "n_positions": values["n_positions"] + int(random.integers(1, 9)),
        }
    else:
        base = values["rope_parameters"]["rope_theta"] * float(random.uniform(1.05, 3))
        changes = {
            "rms_norm_eps": float(10.0 ** random.uniform(-11, -3)),
            "hidden_act": ["gelu", "relu"][random.integers(2)],
            "num_attention_heads": int(random.choice([1, 2, 4])),
            "rope_parameters": {"rope_type": "default", "rope_theta": base},
            "max_position_embeddings": values["max_position_embeddings"] + 1,
        }
    key = sorted(changes)[random.integers(len(changes))]
    folder.put("config.json", {**values, key: changes[key]})
    return None


def truth(folder: Folder, random: Random) -> bool | None:
    """One line of the ground truth: a token, its neuron, the prompt, or all of it."""
    file = folder.path / "ground_truth.jsonl"
    lines = file.read_text().splitlines()
    at = int(random.integers(len(lines)))
    line = json.loads(lines[at])
    kind = random.integers(4)
    part = line["tokens"][int(random.integers(len(line["tokens"])))]
    if kind == 0:
        part["number"] = (part["number"] + int(random.integers(1, 200))) % 200
    elif kind == 1:
        part["neurons"] = json.loads(lines[at - 1])["tokens"][-1]["neurons"]
    elif kind == 2:
        line["context"][-1] = (line["context"][-1] + int(random.integers(1, 200))) % 200
    lines[at : at + 1] = [] if kind == 3 else [json.dumps(line)]
    file.write_text("".join(f"{x}\n" for x in lines))
    return True


# kind, its share, and the words of the table
KINDS: dict[Callable[[Folder, Random], bool | None], tuple[float, str]] = {
    weight_above: (0.5, "one weight, 2 % beyond the change that makes an answer wrong"),
    weight_below: (0.12, "one weight, by half of that change"),
    weight_bit: (0.14, "one bit of the weights"),
    other_bit: (0.08, "one bit of another file"),
    merge: (0.04, "two merges of the tokenizer exchanged"),
    config: (0.06, "one value of `config.json`"),
    truth: (0.06, "one line of `ground_truth.jsonl`"),
}


def verdicts(path: Path, proof: bool) -> tuple[int, int]:
    """The exit codes of `byheart verify` and of the checker, with or without the data.

    With the data, 0 says that the claim is proved; without it, that the files belong together.
    """
    given = [str(path), str(path / "data.jsonl")] if proof else [str(path)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return command(["verify", *given, "--json"]), check.main(given)


def judged(source: Path, kind: Callable, random: Random, place: Path) -> Counter:
    """One damage: what was noticed by hash, and by the claim."""
    shutil.copytree(source, place)
    folder = Folder(place)
    false = kind(folder, random)
    own, other = verdicts(place, proof=False)
    counts = Counter(made=1, hash_byheart=own != 0, hash_checker=other != 0)
    folder.sign()
    own, other = verdicts(place, proof=True)
    if false is None:
        try:
            network = byheart.open(place).network
            false = any(folder.wrong(network, kind) for kind in (np.float64, np.float32))
        except (ByheartError, AssertionError):
            false = False  # it is refused and never runs
    name = "false" if false else "true"
    counts.update({name: 1, f"{name}_byheart": own != 0, f"{name}_checker": other != 0})
    shutil.rmtree(place)
    return counts


def measure(options: Options) -> dict[str, dict[str, dict[str, int]]]:
    result: dict[str, dict] = {}
    each = 1 if options.tiny else EACH
    with tempfile.TemporaryDirectory() as temporary:
        for method in ("gpt2",) if options.tiny else ("gpt2", "llama"):
            data = byheart.load(FACTS, tokenizer="bpe:300")
            model = byheart.compile(data, method)
            source = Path(temporary) / method
            model.save(source, data=reads(model, data))
            assert verdicts(source, proof=False) == verdicts(source, proof=True) == (0, 0)
            for kind, (share, _) in KINDS.items():
                random, counts = np.random.default_rng([SEED, len(kind.__name__)]), Counter()
                for _ in range(max(1, round(share * each))):
                    counts += judged(source, kind, random, Path(temporary) / "damaged")
                result.setdefault(kind.__name__, {})[method] = dict(counts)
                print(method, kind.__name__, dict(counts), flush=True)
    return result


def markdown(result: dict) -> str:
    heads = ("damage", "times", "noticed by the hash, byheart / checker", "claim false",
             "noticed by the claim, byheart / checker", "claim true as far as runs tell",
             "of these proved again, byheart / checker")  # fmt: skip
    body = []
    for kind, (_, words) in KINDS.items():
        total = sum((Counter(x) for x in result[kind.__name__].values()), Counter())

        def both(name: str, total: Counter = total) -> str:
            return f"{total[f'{name}_byheart']:,} / {total[f'{name}_checker']:,}"

        again = (f"{total['true'] - total[f'true_{who}']:,}" for who in ("byheart", "checker"))
        body.append(
            (words, total["made"], both("hash"), total["false"], both("false"), total["true"],
             " / ".join(again))
        )  # fmt: skip
    return table(heads, body)


def missed(result: dict) -> list[str]:
    """Damages that nobody noticed and that are not harmless."""
    lines = []
    for kind, methods in result.items():
        for method, part in methods.items():
            total = Counter(part)
            for who in ("byheart", "checker"):
                if total[f"hash_{who}"] != total["made"]:
                    lines.append(f"{method}, {kind}: a hash that {who} did not compare")
                if total[f"false_{who}"] != total["false"]:
                    lines.append(f"{method}, {kind}: a false claim that {who} proves")
    return lines
