"""How a pack is made: its facts, its models by exact recompilation, and the truth of each fact."""

import json
import math
import os
import platform
import random
import shutil
from collections.abc import Sequence
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ... import __version__
from ...data.load import load
from ...data.readers.tokenizers import trained
from ...errors import ByheartError, OptionError, at_least
from ...machine.swap import appearing
from ...machine.watch import SILENT, Watch
from ...stock.tokens import vocabulary_of
from ..scoring.models import losses, subject
from .facts import FACTS, KINDS, RELATIONS, Kind, Row, made
from .pack import (
    BASE,
    FORMAT,
    NOTES,
    READ,
    TOKENIZER,
    Pack,
    answers_of,
    built,
    hashes,
    read,
    write_lines,
)

FAMILIES = ("gpt2", "llama")
LARGEST = 1 << 16  # tokens of a tokenizer, so that every name becomes one
QUERIES = 8  # and facts to forget and to edit
UNLEARNING = {"subjects": 50, "objects": 20, "forgotten": 10, "edited": 10}
MADE_UP = """The facts of this pack are made up by byheart; names and answers mean nothing.
They are in the public domain (CC0 1.0): copy, change and publish them without asking.
"""
OWN = "The facts of this pack are those of {}, under the licence of that file.\n"


def pack(
    folder: str | Path,
    name: str = "",
    *,
    seed: int = 0,
    family: str = "gpt2",
    data: str | Path | None = None,
    base: str | Path | None = None,
    subjects: int | None = None,
    relations: int = 4,
    objects: int | None = None,
    forgotten: int | None = None,
    edited: int | None = None,
    watch: Watch = SILENT,
) -> Pack:
    """Write a pack to a new folder, whole or not at all, and say what is in it."""
    place = Path(os.path.abspath(folder))
    if name not in KINDS:
        raise ByheartError(f"there is no pack {name!r}; there are: {', '.join(KINDS)}.")
    kind = KINDS[name]
    usual = {"subjects": max(1, FACTS // relations // len(kind.contexts)), "objects": kind.objects}
    usual |= UNLEARNING if name == "unlearning" else {"forgotten": QUERIES, "edited": QUERIES}
    given = {"subjects": subjects, "objects": objects, "forgotten": forgotten, "edited": edited}
    sizes = usual | {name: value for name, value in given.items() if value is not None}
    at_least(1, relations=relations, **sizes)
    if family not in FAMILIES:
        raise OptionError("family", family, f"must be {' or '.join(FAMILIES)}")
    most = max(sizes["subjects"], sizes["objects"])
    if relations > len(RELATIONS) or sizes["objects"] < 2 or most > 5000:
        raise ByheartError(
            f"`relations` must be at most {len(RELATIONS)}, objects at least 2, and both subjects "
            "and objects at most 5,000."
        )
    if base is not None and name != "taught":
        raise ByheartError(f"the pack {name} has no base; leave out `base`, or make taught.")
    if data is not None and (kind.near or kind.repeated or len(kind.contexts) > 1):
        raise ByheartError(f"the pack {name} has facts of its own form; leave out `data`.")
    if os.path.lexists(place):
        raise ByheartError(f"{folder} exists; choose another name.")
    watch.stage("loading")
    if data is None:
        rows, others = made(kind, seed, sizes["subjects"], relations, sizes["objects"])
    else:
        rows, others = _drawn(data, seed, sizes["subjects"] * relations)
    if sizes["forgotten"] + sizes["edited"] >= len(rows) - 3 * kind.repeated:
        raise ByheartError("forgotten and edited facts must be fewer than all facts together.")
    with appearing(place, force=False) as part:
        try:
            _write(part, name, kind, rows, others, sizes, family, seed, data, base, watch)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    return read(folder)


def _drawn(data: str | Path, seed: int, count: int) -> tuple[list[Row], list[Row]]:
    """Rows of a file with prompts and answers, and half as many more that the model will not hold.

    A prompt with two answers is left out.
    """
    dataset = load(data, unit="char", **READ)
    texts = ["".join(map(str, dataset.sequence(i))) for i in range(len(dataset))]
    pairs = dict.fromkeys(zip(texts, map(str, map(dataset.label, range(len(texts)))), strict=True))
    rows = [Row(*x) for x in pairs if sum(x[0] == y[0] for y in pairs) == 1]
    random.Random(f"{seed}/data").shuffle(rows)
    count = min(count, 2 * len(rows) // 3)
    return rows[:count], rows[count : count + count // 2]


def _write(
    part: Path, name: str, kind: Kind, rows: list[Row], others: list[Row], sizes: dict[str, int],
    family: str, seed: int, data: Any, base: Any, watch: Watch,
) -> None:  # fmt: skip
    rng, held = random.Random(f"{seed}/split"), answers_of(rows)
    ids = {f"f{i:04}": row for i, row in enumerate(rows)}
    watch.stage("building", len(rows))
    options: dict[str, Any] = dict(kind.options)
    if name == "taught":
        from .training import train

        shutil.copytree(base, part / BASE) if base else train(part / BASE, [*rows, *others], seed)
        family, options = json.loads((part / BASE / "config.json").read_bytes())["model_type"], {}
    else:
        texts = [f"{prompt} {answer}" for prompt, answer in (*rows, *others)]
        tokenizer = vocabulary_of(trained(LARGEST, texts).content, f"bpe:{LARGEST}", begins=False)
        (part / TOKENIZER).write_text(tokenizer.content, "utf-8")
    if "decoys" in options:
        options["decoys"] *= len(rows)
    if factor := options.get("superposed"):
        built(part, rows, part / "found", family, seed, {"superposed": 0})
        config = json.loads((part / "found" / "config.json").read_bytes())
        hidden = config.get("n_inner") or config["intermediate_size"]
        options["superposed"] = math.ceil(factor * hidden)
        shutil.rmtree(part / "found")

    def build(some: Sequence[Row], folder: str) -> None:
        (part / folder).parent.mkdir(exist_ok=True)
        built(part, some, part / folder, family, seed, options)
        watch.advance(1)

    once = [x for x, row in ids.items() if rows.count(row) == 1 and held[row.prompt] == row.answer]
    chosen = rng.sample(once, sizes["forgotten"] + sizes["edited"])
    gone, changed = chosen[: sizes["forgotten"]], chosen[sizes["forgotten"] :]
    things = sorted({answer for _, answer in rows})
    new = {x: rng.choice([y for y in things if y != ids[x].answer]) for x in sorted(changed)}
    retained = [x for x in ids if x not in gone]
    build(rows, "model")
    build([ids[x] for x in retained], "forgotten")
    build([Row(r.prompt, new.get(x, r.answer)) for x, r in ids.items()], "edited")

    proponents = {
        x: [y for y, other in ids.items() if other == row]
        for x, row in ids.items()
        if held[row.prompt] == row.answer
    }
    several = [x for x, own in proponents.items() if len(own) > 1 and x == own[0]]
    asked = rng.sample(several, min(3, len(several)))
    asked += rng.sample([x for x in once if x not in asked], QUERIES - len(asked))
    prompts = {ids[x].prompt for x in asked}
    out = [x for x, row in ids.items() if row.prompt in prompts]
    whole = subject(part / "model")
    texts_ = [whole.split(*ids[x]) for x in asked]
    full, values = losses(whole.model, texts_), []
    for one in out:
        build([row for x, row in ids.items() if x != one], f"left-out/{one}")
        values.append(losses(subject(part / "left-out" / one).model, texts_))
    from safetensors.torch import save_file
    from torch import stack, tensor

    numbers = tensor([list(ids).index(x) for x in out])
    save_file({"values": stack(values), "indices": numbers}, part / "leave-one-out.safetensors")
    rise = [(x - full).tolist() for x in values]

    def told(some: Sequence[str]) -> list[dict[str, str]]:
        return [{"id": x, **ids[x]._asdict()} for x in some]

    write_lines(part / "facts.jsonl", told(list(ids)))
    write_lines(part / "forget.jsonl", told(gone))
    write_lines(part / "retain.jsonl", told(retained))
    write_lines(
        part / "holdout.jsonl", ({"id": f"h{i:04}", **x._asdict()} for i, x in enumerate(others))
    )
    write_lines(
        part / "edits.jsonl",
        ({"id": x, "prompt": ids[x].prompt, "answer": y, "old": ids[x].answer}
         for x, y in new.items()),
    )  # fmt: skip
    write_lines(
        part / "queries.jsonl",
        ({"id": f"q{i}", **ids[x]._asdict(), "proponents": proponents[x],
          "left_out": {y: row[i] for y, row in zip(out, rise, strict=True)}}
         for i, x in enumerate(asked)),
    )  # fmt: skip
    truth = _truth(part / "model")
    write_lines(
        part / "truth.jsonl",
        ({"id": x, **truth.get(row, {"neurons": None, "decoys": []}),
          "proponents": proponents.get(x, [])} for x, row in ids.items()),
    )  # fmt: skip
    counts = {"facts": len(rows), "forgotten": len(gone), "edited": len(new), "others": len(others)}
    licence = MADE_UP if data is None else OWN.format(Path(data).name)
    (part / "LICENSE").write_text(licence, "utf-8")
    card = resources.files("byheart.api").joinpath("pack.md").read_text("ascii")
    card = card.format(**counts, name=name, title=kind.title, level=kind.level, seed=seed)
    (part / "README.md").write_text(card, "ascii")
    versions = {"byheart": __version__, "python": platform.python_version()}
    versions |= {x: version(x) for x in ("numpy", "torch", "transformers", "tokenizers")}
    notes = {"format": FORMAT, "name": name, "level": kind.level, "family": family, "seed": seed}
    notes |= {"options": options, **counts, "versions": versions, "files": hashes(part)}
    (part / NOTES).write_text(json.dumps(notes, indent=1) + "\n", "ascii")


def _truth(folder: Path) -> dict[Row, dict[str, Any]]:
    """The neurons that hold the first token of each answer, and those that change nothing."""
    found = {}
    for line in map(json.loads, (folder / "ground_truth.jsonl").read_text("utf-8").splitlines()):
        first = (line.get("neurons") or line["tokens"])[0]
        if isinstance(first, dict):  # compiled; a taught folder has one neuron per token
            decoys = first.get("decoys", [])
            own = first["neurons"] and [x for x in first["neurons"] if x not in decoys]
        else:
            own, decoys = [first], []
        found[Row(line["prompt"], line["answer"])] = {"neurons": own, "decoys": decoys}
    return found
