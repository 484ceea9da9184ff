"""Published methods on the packs whose truth is known.

Every method of `benchmarks/methods/` is scored by `byheart benchmark` on every pack: GPT-2 with the
seed 0, some packs of Llama, and one whose facts were taught to stories260K. The rows are in
`results/benchmark/`; a row that is there is not measured again, as long as its pack and the file of
its method have the same hashes. One thread.
"""

import contextlib
import random
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import byheart
from byheart import pictures
from byheart.api.benchmark import Benchmark, kept
from byheart.api.packs.facts import FACTS, KINDS
from byheart.api.packs.pack import write_lines
from byheart.views.benchmark import draw

from .report import ROOT, Options, table
from .teach import ANIMALS, NAMES, PROMPT
from .teach import KINDS as KINDS_OF_ANIMALS

PLACE = ROOT / "results" / "benchmark"
LIMIT = 1200.0  # seconds: generous, since others may use the machine
LLAMA = ("single", "decoys", "near-duplicates")
TINY = {"subjects": 3, "forgotten": 2, "edited": 2}
TRAINED = "stories260K"
METHODS = {
    "locate": ("activation_patching:locate", "activation_patching:locate_zero",
               "gradient_activation:locate", "knowledge_neurons:locate", "contribution:locate"),
    "edit": ("finetuning:edit", "finetuning:edit_matrix", "rome:edit", "rome_each:edit",
             "memit:edit", "nothing:edit"),
    "unlearn": ("gradient_ascent:unlearn", "gradient_ascent:unlearn_difference", "npo:unlearn",
                "task_vectors:unlearn", "erasing:unlearn", "nothing:unlearn"),
    "extract": ("greedy:extract", "sampling:extract", "loss_attack:membership",
                "min_k:membership", "zlib_ratio:membership"),
    "attribute": ("tracin:attribute", "gradient_cosine:attribute", "trak:attribute",
                  "trak:attribute_unweighted", "influence:attribute", "shared_words:attribute"),
}  # fmt: skip
TITLES = {
    "activation_patching:locate": "patching", "activation_patching:locate_zero": "ablation",
    "gradient_activation:locate": "gradient x activation",
    "knowledge_neurons:locate": "knowledge neurons", "contribution:locate": "contribution",
    "finetuning:edit": "fine-tuning", "finetuning:edit_matrix": "one-matrix fine-tuning",
    "rome:edit": "ROME, middle block", "rome_each:edit": "ROME, each block tried",
    "memit:edit": "MEMIT", "nothing:edit": "doing nothing",
    "gradient_ascent:unlearn": "gradient ascent",
    "gradient_ascent:unlearn_difference": "gradient difference", "npo:unlearn": "NPO",
    "task_vectors:unlearn": "task vectors", "erasing:unlearn": "erasing neurons",
    "nothing:unlearn": "doing nothing",
    "greedy:extract": "greedy", "sampling:extract": "sampling", "loss_attack:membership": "loss",
    "min_k:membership": "min-k %", "zlib_ratio:membership": "zlib ratio",
    "tracin:attribute": "TracIn", "gradient_cosine:attribute": "cosine of gradients",
    "trak:attribute": "TRAK", "trak:attribute_unweighted": "TRAK, unweighted",
    "influence:attribute": "influence", "shared_words:attribute": "shared words",
}  # fmt: skip
BUILT_IN = ("exact", "random")
SECOND = ("false_recitations", "leave_one_out")  # shown beside the first score of a task


class Place(NamedTuple):
    """A pack to make: the file of its rows, and the options of `byheart generate pack`."""

    file: str
    name: str
    options: dict[str, Any]


def places(options: Options, folder: Path) -> Iterable[Place]:
    """Every pack, those of Llama, and the trained model."""
    if options.tiny:
        yield Place("gpt2", "single", TINY)
        return
    yield from (Place("gpt2", name, {}) for name in KINDS)
    yield from (Place("llama", name, {"family": "llama"}) for name in LLAMA)
    base, data = options.file(TRAINED) / "base", folder / "facts.jsonl"
    write_lines(data, plain())
    yield Place(TRAINED, "taught", {"base": base, "data": data})


def plain() -> list[dict[str, str]]:
    """Facts of words that a model of 512 tokens knows."""
    draw = random.Random(0)
    pairs = draw.sample([*product(KINDS_OF_ANIMALS, ANIMALS)], FACTS * 3 // 2)
    return [{"prompt": PROMPT.format(*pair), "answer": draw.choice(NAMES)} for pair in pairs]


def scored(place: Place, output: Path, limit: float = LIMIT) -> None:
    """Make a pack, and add the rows of all methods to a file."""
    import torch

    torch.set_num_threads(1)
    with TemporaryDirectory() as folder, contextlib.chdir(ROOT):
        pack = Path(folder) / "pack"
        byheart.generate("pack", pack, name=place.name, **place.options)
        for task, names in METHODS.items():
            if task == "locate" and place.name.startswith("superposed"):
                continue  # all neurons hold all facts
            files = (f"benchmarks/methods/{x.replace(':', '.py:')}" for x in names)
            byheart.benchmark(task, pack, [*BUILT_IN, *files], output=output, limit=limit)


def measure(options: Options) -> list[str]:
    with TemporaryDirectory() as folder:
        output = Path(folder) if options.tiny else PLACE
        output.mkdir(parents=True, exist_ok=True)
        for place in places(options, Path(folder)):
            options.apart(scored, place, output / f"{place.file}.jsonl", threads=1)
            print(f"{place.file}: {place.name}", flush=True)
        return summary(output)


class Cell(NamedTuple):
    """What a page needs of a row: a score, whose name is empty if the method failed."""

    file: str
    pack: str
    level: int
    task: str
    method: str
    score: str
    value: float
    floor: float
    ceiling: float

    @property
    def way(self) -> float:
        """How far it is from chance to the exact operation: 1 is the exact one."""
        return (self.value - self.floor) / (self.ceiling - self.floor) if self.score else 0.0

    @property
    def label(self) -> str:
        return {"gpt2": self.pack, "llama": f"{self.pack}, Llama"}.get(self.file, self.file)


def summary(folder: Path) -> list[str]:
    """The first score of every row, and those of SECOND, in the order of tasks and levels."""
    cells = []
    for path in folder.glob("*.jsonl"):
        for row in kept(path):
            method = row.method.rpartition("/")[2].replace(".py", "")
            about = path.stem, row.pack, row.level, row.task, method
            if row.problem:
                cells.append(Cell(*about, "", 0.0, 0.0, 1.0))
            for i, (name, score) in enumerate(row.scores.items()):
                if i == 0 or name in SECOND:
                    ends = (float(f"{score[x] or 0:.4g}") for x in ("value", "floor", "ceiling"))
                    cells.append(Cell(*about, name, *ends))
    order = [*BUILT_IN, *(x for names in METHODS.values() for x in names)]
    files = ["gpt2", "llama", TRAINED]

    def place(cell: Cell) -> tuple[int, ...]:
        pack = list(KINDS).index(cell.pack)
        task = list(METHODS).index(cell.task)
        return task, files.index(cell.file), cell.level, pack, order.index(cell.method)

    return ["\t".join(map(str, cell)) for cell in sorted(cells, key=place)]


def cells_of(results: Iterable[str]) -> list[Cell]:
    parts = (line.split("\t") for line in results)
    return [Cell(*x[:2], int(x[2]), *x[3:6], *map(float, x[6:])) for x in parts]


def broken(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """By pack: the methods that come half the way on `single` and not half of it here.

    A method that fails already on `single` says nothing about what is harder elsewhere.
    """
    known = [x for x in cells if x.pack == "single"]
    found: dict[str, list[Cell]] = {}
    for x in cells:
        same = [y for y in known if y.method == x.method and x.score in (y.score, "")]
        first = max((y.way for y in same if y.file in (x.file, "gpt2")), default=0.0)
        own = found.setdefault(x.label, [])
        if x.method in TITLES and first >= 0.5 > x.way:
            own.append(x)
    return found


def missed(results: list[str]) -> list[str]:
    """Packs beyond the first level that break no method, and exact operations below the ceiling."""
    cells = cells_of(results)
    easy = {x.label for x in cells if x.level > 1} - {x for x, y in broken(cells).items() if y}
    below = [x.label for x in cells if x.method == "exact" and abs(x.way - 1) > 1e-6]
    return [*(f"{x} breaks no method" for x in sorted(easy)), *(f"{x}: exact" for x in below)]


def markdown(results: list[str]) -> str:
    cells, parts = cells_of(results), []
    for task, names in METHODS.items():
        own = [x for x in cells if x.task == task]
        for score in dict.fromkeys(x.score for x in own if x.score):
            ran = {x.method for x in own if x.score == score}
            methods = [x for x in names if x in ran]
            rows = []
            for label in dict.fromkeys(x.label for x in own):
                here = {x.method: x for x in own if x.label == label and x.score in (score, "")}
                if not any(x in here for x in methods):
                    continue  # not measured yet
                known = {x: y for x, y in here.items() if x in methods and y.score}
                exact = next(iter(known.values()))
                values = [f"{known[x].value:.2f}" if x in known else "-" for x in methods]
                rows.append((label, *values, f"{exact.ceiling:.2f}", f"{exact.floor:.3f}"))
            heads = ("", *(TITLES[x] for x in methods), "exact", "chance")
            parts += [f"**{task}: {score.replace('_', ' ')}**", table(heads, rows)]
    levels = {x.label: x.level for x in cells}
    rows = []
    for label, own in broken(cells).items():
        tasks = {x.task: {TITLES[y.method]: 0 for y in own if y.task == x.task} for x in own}
        said = (f"{x}: {', '.join(y)}" for x, y in tasks.items())
        rows.append((label, levels[label], "; ".join(said) or "-"))
    rows.sort(key=lambda x: x[1])
    parts += ["**What each pack breaks**", table(("pack", "level", "methods"), rows)]
    return "\n\n".join(parts)


def publish(results: list[str]) -> None:
    """Draw the rows of GPT-2 for the page."""
    rows = kept(PLACE / "gpt2.jsonl")
    pictures.write(draw, Benchmark(tuple(rows), None, 0), ROOT / "docs" / "benchmark.svg")
