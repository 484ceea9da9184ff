"""A pack to score unlearning and editing methods on, with the exact answers.

Facts (relation, subject, object) with one prompt each; a model of all of them, the model that never
saw the facts to forget, the model that forgot them, the model with edited facts, the data of each,
and for every fact the parameters that hold it.
"""

import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ..claims.result import Result, picked, plain
from ..data.dataset import Dataset
from ..data.load import write_jsonl
from ..errors import ByheartError, at_least
from ..machine.swap import appearing
from ..machine.watch import SILENT, Watch
from ..models.kinds import difference
from ..models.locating import locate
from .compile import compile
from .edit import edit
from .forget import forget

RELATIONS = (
    "capital", "river", "anthem", "founder", "port", "bird", "dish", "currency", "mountain",
    "festival", "language", "poet", "flower", "colour", "harbour", "patron",
)  # fmt: skip
STARTS, ENDS = ("ba", "do", "fe", "gi", "ka", "lu", "mo", "ne", "pi", "ra", "so", "tu"), "lnrstv"
SAME = "The weights of forgotten/ and of retained/ are the same bytes.\n"


def names(count: int, rng: random.Random, taken: set[str]) -> list[str]:
    names: list[str] = []
    while len(names) < count:
        name = "".join(rng.choice(STARTS) for _ in range(3)) + rng.choice(ENDS)
        if name not in taken:
            taken.add(name)
            names.append(name)
    return names


def facts(subjects: int, relations: int, objects: int, seed: int) -> list[tuple[list[str], str]]:
    """Prompts and answers: "the capital of bakadon is" has the tokens the, capital, of, bakadon."""
    rng, taken = random.Random(seed), set(RELATIONS)
    people, things = names(subjects, rng, taken), names(objects, rng, taken)
    return [
        (["the", relation, "of", subject], rng.choice(things))
        for subject in people
        for relation in RELATIONS[:relations]
    ]


@dataclass(frozen=True)
class Pack(Result):
    """What is in a pack that was written."""

    folder: str
    subjects: int
    relations: int
    objects: int
    facts: int  # their number; so many of them are forgotten, and others edited
    forgotten: int
    edited: int
    seed: int
    parameters: Mapping[str, int]  # that are not 0, of each of its models by name
    # whether forgetting gives the model that never saw the facts, in every byte of its weights
    forgotten_is_retained: bool

    def json(self) -> dict:
        return {"kind": "unlearning", **super().json()}


def unlearning(
    folder: str | Path,
    *,
    subjects: int = 50,
    relations: int = 4,
    objects: int = 20,
    forgotten: int = 10,
    edited: int = 10,
    seed: int = 0,
    watch: Watch = SILENT,
) -> Pack:
    """Write the pack to a new folder, whole or not at all, and say what is in it."""
    place = Path(os.path.abspath(folder))
    at_least(1, subjects=subjects, relations=relations, objects=objects)
    at_least(1, forgotten=forgotten, edited=edited)
    if relations > len(RELATIONS) or objects < 2 or max(subjects, objects) > 5000:
        raise ByheartError(
            f"`relations` must be at most {len(RELATIONS)}, objects at least 2, and both subjects "
            "and objects at most 5,000."
        )
    if forgotten + edited >= subjects * relations:
        raise ByheartError("forgotten and edited facts must be fewer than all facts together.")
    if os.path.lexists(place):
        raise ByheartError(f"{folder} exists; choose another name.")
    rows = facts(subjects, relations, objects, seed)
    with appearing(place, force=False) as part:
        counts = _write(part, rows, forgotten, edited, seed, watch)
    return Pack(str(folder), subjects, relations, objects, **counts)


def _write(
    part: Path,
    rows: list[tuple[list[str], str]],
    forgotten: int,
    edited: int,
    seed: int,
    watch: Watch,
) -> dict[str, Any]:
    rng = random.Random(f"{seed}/split")
    chosen = rng.sample(range(len(rows)), forgotten + edited)
    gone, changed = set(chosen[:forgotten]), set(chosen[forgotten:])
    labels = sorted({label for _, label in rows})
    new = {i: rng.choice([x for x in labels if x != rows[i][1]]) for i in sorted(changed)}
    full = Dataset.from_rows(rows)
    watch.stage("building", len(rows))
    model = compile(full, editable=True, seed=seed)
    without = forget(model, full, [rows[i][0] for i in sorted(gone)])
    retained = compile(without.data, editable=True, seed=seed)
    after = edit(model, full, [(rows[i][0], label) for i, label in new.items()], rebuild=True)
    models = dict(full=model, forgotten=without.model, retained=retained, edited=after.model)
    watch.stage("writing")
    for name, one in models.items():
        one.save(part / name)
    removed = Dataset.from_rows([rows[i] for i in sorted(gone)])
    files = {"full": full, "retain": without.data, "edited": after.data, "forget": removed}
    for name, dataset in files.items():
        write_jsonl(dataset, part / f"{name}.jsonl")
    edits = [{"edit": "change", "input": rows[i][0], "label": label} for i, label in new.items()]
    _lines(part / "edits.jsonl", edits)
    watch.stage("locating", len(rows))
    truth = []
    known = without.model.answers([tokens for tokens, _ in rows])
    for i, (tokens, label) in enumerate(rows):
        location = locate(model, tokens)
        split = "forget" if i in gone else "edit" if i in changed else "retain"
        answer: dict[str, Any] = {"input": tokens, "label": label, "split": split}
        answer |= picked(location, "read bits")
        answer |= {"after_forgetting": known[i].label, "after_editing": new.get(i, label)}
        truth.append(answer)
        watch.advance(i + 1)
    _lines(part / "answers.jsonl", truth)
    differing = {name: difference(model, models[name]) for name in ("forgotten", "edited")}
    changes = {name: x and plain(x.places) for name, x in differing.items()}
    (part / "changes.json").write_text(json.dumps(changes, indent=1) + "\n", "ascii")
    same = without.model.network == retained.network
    counts = {"facts": len(rows), "forgotten": forgotten, "edited": edited, "seed": seed}
    card = resources.files(__package__).joinpath("unlearning.md").read_text("ascii")
    card = card.format(**counts, same=SAME if same else "")
    (part / "README.md").write_text(card, "ascii")
    sizes = {name: one.parameters.nonzero for name, one in models.items()}
    return {**counts, "parameters": sizes, "forgotten_is_retained": same}


def _lines(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "ascii")
