"""How a pack is made: its facts, its models by exact recompilation, and the truth of each fact."""

import json
import math
import os
import platform
import random
import shutil
from collections.abc import Iterable
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ... import __version__
from ...data.load import load
from ...data.readers.tokenizers import trained
from ...errors import ByheartError, OptionError, at_least, one_of
from ...machine.swap import appearing
from ...machine.watch import SILENT, Watch
from ...stock.tokens import vocabulary_of
from ..scoring.models import losses, subject
from . import layouts
from . import pack as packs
from .facts import FACTS, KINDS, RELATIONS, Row, made

FAMILIES = ("gpt2", "llama")
TRAINED = "bpe:65536"  # more tokens than there are pairs to join: every name becomes one
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
    layout: str | None = None,
    watch: Watch = SILENT,
) -> packs.Pack:
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
    one_of(layouts.LAYOUTS, layout=layout)
    if family not in FAMILIES:
        raise OptionError("family", family, f"must be {' or '.join(FAMILIES)}")
    if family != "gpt2" and "superposed" in kind.options:
        raise ByheartError(f"the pack {name} is of gpt2 alone; leave out `family`.")
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
    gone, new = sizes["forgotten"], sizes["edited"]
    if max(gone + new, QUERIES) >= len(rows) - 3 * kind.repeated:
        raise ByheartError("forgotten and edited facts must be fewer than all facts together.")
    with appearing(place, force=False) as part:
        try:
            watch.stage("building", 3 + QUERIES)
            maker = _Maker(part, name, family, seed, rows, others, watch)
            maker.prepare(base)
            licence = MADE_UP if data is None else OWN.format(Path(data).name)
            maker.write(gone, new, licence, layout)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    return packs.read(folder)


def _drawn(data: str | Path, seed: int, count: int) -> tuple[list[Row], list[Row]]:
    """Rows of a file, and half as many more that the model will not hold; a prompt with two answers
    is left out."""
    dataset = load(data, unit="char", **packs.READ)
    texts = ["".join(map(str, dataset.sequence(i))) for i in range(len(dataset))]
    pairs = {(text, str(dataset.label(i))) for i, text in enumerate(texts)}
    answers = dict(sorted(pairs))
    rows = [Row(*x) for x in answers.items() if sum(x[0] == text for text, _ in pairs) == 1]
    random.Random(f"{seed}/data").shuffle(rows)
    count = min(count, 2 * len(rows) // 3)
    return rows[:count], rows[count : count + count // 2]


class _Maker:
    """A pack that is being made in a folder."""

    def __init__(self, part: Path, name: str, family: str, seed: int, rows: list[Row],
                 others: list[Row], watch: Watch) -> None:  # fmt: skip
        self.part, self.name, self.family, self.seed, self.watch = part, name, family, seed, watch
        self.rows, self.others, self.options = rows, others, dict(KINDS[name].options)

    def build(self, rows: Iterable[Row], folder: str) -> None:
        (self.part / folder).parent.mkdir(exist_ok=True)
        place = self.part / folder
        packs.built(self.part, rows, place, self.family, self.seed, self.options)
        self.watch.advance(1)

    def put(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        packs.write_lines(self.part / f"{name}.jsonl", rows)

    def prepare(self, base: str | Path | None) -> None:
        """The tokenizer, or the base that is taught, and how many neurons superposition takes."""
        texts = [f"{prompt} {answer}" for prompt, answer in (*self.rows, *self.others)]
        if self.name == "taught":
            from .training import train

            place = self.part / packs.BASE
            shutil.copytree(base, place) if base else train(place, texts, self.seed)
            self.family = json.loads((place / "config.json").read_bytes())["model_type"]
            return
        content = trained(int(TRAINED[4:]), texts).content
        content = vocabulary_of(content, TRAINED, begins=False).content
        (self.part / packs.TOKENIZER).write_text(content, "utf-8")
        self.options |= {x: n * len(self.rows) for x, n in self.options.items() if x == "decoys"}
        if factor := self.options.get("superposed"):
            self.options["superposed"] = 0  # which finds how many do
            self.build(self.rows, "found")
            config = json.loads((self.part / "found" / "config.json").read_bytes())
            hidden = config.get("n_inner") or config["intermediate_size"]
            self.options["superposed"] = math.ceil(factor * hidden)
            shutil.rmtree(self.part / "found")

    def write(self, forgotten: int, edited: int, licence: str, layout: str | None) -> None:
        """The models, then the files, then the hashes of all of them."""
        ids = {f"f{i:04}": row for i, row in enumerate(self.rows)}
        rng, held = random.Random(f"{self.seed}/split"), packs.answers_of(self.rows)
        own = {x: [y for y in ids if ids[y] == row] for x, row in ids.items()}
        proponents = {x: y if held[ids[x].prompt] == ids[x].answer else [] for x, y in own.items()}
        once = [x for x, y in proponents.items() if len(y) == 1]
        chosen = rng.sample(once, forgotten + edited)
        gone, things = chosen[:forgotten], sorted({answer for _, answer in self.rows})
        new = {x: rng.choice([y for y in things if y != ids[x].answer])
               for x in sorted(chosen[forgotten:])}  # fmt: skip
        retained = [x for x in ids if x not in gone]
        self.build(self.rows, "model")
        self.build([ids[x] for x in retained], "forgotten")
        self.build([Row(row.prompt, new.get(x, row.answer)) for x, row in ids.items()], "edited")
        several = [x for x, y in proponents.items() if len(y) > 1 and x == y[0]]
        asked = rng.sample(several, min(3, len(several)))
        asked += rng.sample(once, QUERIES - len(asked))
        prompts = {ids[x].prompt for x in asked}
        rise = self.left_out(ids, asked, [x for x, row in ids.items() if row.prompt in prompts])
        rows = {x: {"id": x, **row._asdict()} for x, row in ids.items()}
        for name, some in {"facts": ids, "forget": gone, "retain": retained}.items():
            self.put(name, map(rows.__getitem__, some))
        self.put("held", packs.held_lines(self.rows))
        self.put("holdout", ({"id": f"h{i:04}", **x._asdict()} for i, x in enumerate(self.others)))
        self.put("edits", (rows[x] | {"answer": y, "old": ids[x].answer} for x, y in new.items()))
        self.put("queries", ({**rows[x], "id": f"q{i}", "proponents": proponents[x],
                              "left_out": rise[i]} for i, x in enumerate(asked)))  # fmt: skip
        truth = _truth(self.part / "model")
        self.put("truth", ({"id": x, **truth.get(ids[x], {"neurons": None, "decoys": []}),
                            "proponents": proponents[x]} for x in ids))  # fmt: skip
        if layout:
            layouts.write(layout, self.part, self.seed)
        counts = {"facts": len(ids), "forgotten": len(gone), "edited": len(new)}
        notes = {"name": self.name, "level": KINDS[self.name].level, "family": self.family,
                 "seed": self.seed, **counts, "others": len(self.others)}  # fmt: skip
        card = resources.files("byheart.api").joinpath("pack.md").read_text("ascii")
        (self.part / "README.md").write_text(card.format(**notes, title=KINDS[self.name].title))
        (self.part / "LICENSE").write_text(licence, "utf-8")
        versions = {"byheart": __version__, "python": platform.python_version()}
        versions |= {x: version(x) for x in ("numpy", "torch", "transformers", "tokenizers")}
        notes |= {"format": packs.FORMAT, "options": self.options, "versions": versions}
        notes["files"] = packs.hashes(self.part)
        (self.part / packs.NOTES).write_text(json.dumps(notes, indent=1) + "\n", "ascii")

    def left_out(
        self, ids: dict[str, Row], asked: list[str], out: list[str]
    ) -> list[dict[str, float]]:
        """For every query by how many nats its answer's loss rises without each of these rows."""
        from safetensors.torch import save_file
        from torch import stack, tensor

        whole = subject(self.part / "model")
        texts = [whole.split(*ids[x]) for x in asked]
        for one in out:
            self.build([row for x, row in ids.items() if x != one], f"left-out/{one}")
        models = [subject(self.part / "left-out" / x).model for x in out]
        values = stack([losses(model, texts) for model in models])
        numbers = tensor([list(ids).index(x) for x in out])
        save_file({"values": values, "indices": numbers}, self.part / "leave-one-out.safetensors")
        rise = (values - losses(whole.model, texts)).T.tolist()
        return [dict(zip(out, row, strict=True)) for row in rise]


def _truth(folder: Path) -> dict[Row, dict[str, Any]]:
    """The neurons that hold the first token of each answer, and those that change nothing."""
    found = {}
    for line in map(json.loads, (folder / "ground_truth.jsonl").read_text("utf-8").splitlines()):
        first = (line.get("neurons") or line["tokens"])[0]
        if not isinstance(first, dict):  # of a taught folder: one neuron per token
            first = {"neurons": [first]}
        decoys = first.get("decoys", [])
        own = first["neurons"] and [x for x in first["neurons"] if x not in decoys]
        found[Row(line["prompt"], line["answer"])] = {"neurons": own, "decoys": decoys}
    return found
