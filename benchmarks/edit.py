"""Editable networks: their size, the cost of an edit, and whether edits are what they claim.

    python benchmarks/edit.py [--largest 100000] [--datasets 5] [--parts sizes ...] [--write]

sizes      nonzero parameters of editable networks and of ordinary ones, medians over datasets; CPU
           time of a label edit (the structure that is recorded, solved again) and of a compile of
           the same editable network (structure and solve), without loading and verifying
histories  random changes, additions and removals in batches; after each, the weights are compared
           with those of a fresh compile of the edited rows in another order
worlds     two datasets that differ in one item's label: after forgetting it, every file is compared
removals   how many keep the structure in place
decoders   parameters and neurons of one-layer that a label edit touches
"""

import argparse
import json
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import byheart
from byheart.compiler.compiling import configured, prepare
from byheart.compiler.editing import edit, forget
from byheart.data.dataset import Dataset
from byheart.data.generate import random as random_data

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- edit:begin -->", "<!-- edit:end -->"
LIMITS = {1000: 295, 10_000: 585, 100_000: 1390}  # nonzero parameters
FASTER = {10_000: 50, 100_000: 6}  # times, a label edit against a compile
METHOD = "hash-fold-retrieve"


def editable() -> byheart.methods.HashFoldRetrieve:
    return configured(METHOD, None, 0, {"editable": True, "positions": False})


def flipped(data: Dataset, row: int) -> Dataset:
    """The data with another label for the context of a row."""
    from byheart.data.contexts import contexts

    group = contexts(data, positions=False).group
    labels = data.labels.copy()
    labels[group == group[row]] ^= 1
    return replace(data, labels=labels)


def sizes(sequences: int, datasets: int) -> dict:
    rows = []
    for seed in range(datasets):
        data, construction = random_data(sequences, seed=seed), editable()
        prepared, grouped = prepare(construction, data, "refuse")
        started = time.process_time()
        built = construction.build(prepared, grouped, lambda sentence: None)
        compiled = time.process_time() - started
        other, grouped = prepare(construction, flipped(data, seed), "refuse")
        recorded = replace(construction, structure=built.structure)
        started = time.process_time()
        recorded.build(other, grouped, lambda sentence: None)
        edited = time.process_time() - started
        model = byheart.compile(data, recorded)
        assert model.network == built.network and model.verification.evidence == "proved"
        ordinary = byheart.compile(data, METHOD, positions=False, sample=100)
        rows.append(
            {
                "contexts": len(grouped),
                "editable": model.parameters.nonzero,
                "ordinary": ordinary.parameters.nonzero,
                "bits": model.bits.total,
                "ordinary_bits": ordinary.bits.total,
                "compile": compiled,
                "edit": edited,
            }
        )
        print(sequences, rows[-1], flush=True)
    return {"N": sequences, "datasets": rows, **medians(rows)}


def medians(rows: list[dict]) -> dict:
    """The middle value of each column; of an even number, the larger of the two in the middle."""
    return {name: sorted(row[name] for row in rows)[len(rows) // 2] for name in rows[0]}


def history(sequences: int, edits: int, batches: int) -> dict:
    """Batches of random edits; every other one changes labels alone and so stays in place."""
    rng = random.Random(sequences)
    pool = random_data(2 * sequences, seed=7)
    every = {context_key(tokens): (tokens, label) for tokens, label in pool}
    items = list(every.values())
    rng.shuffle(items)
    rows, spare = items[:sequences], items[sequences:]
    data = Dataset.from_rows(rows)
    model = byheart.compile(data, editable())
    equal = proved = 0
    for batch in range(batches):
        count, change, add, remove = edits // batches, [], [], []
        chosen = rng.sample(range(len(data)), count)
        for row in chosen:
            tokens, label = data[row]
            kind = rng.choice(("change", "add", "remove")) if batch % 2 else "change"
            if kind == "change" or (kind == "add" and not spare):
                change.append((tokens, 1 - label))
            elif kind == "add":
                add.append(spare.pop())
            else:
                remove.append(tokens)
        found = edit(model, data, change, add or None, remove)
        model, data = found.model, found.data
        shuffled = list(data)
        rng.shuffle(shuffled)
        fresh = byheart.compile(Dataset.from_rows(shuffled), editable())
        equal += weights(fresh) == weights(model)
        proved += model.verification.evidence == "proved"
        print(sequences, "batch", batch + 1, equal, proved, flush=True)
    return {"N": sequences, "edits": edits, "batches": batches, "equal": equal, "proved": proved}


def context_key(tokens: list) -> tuple:
    return tuple(sorted(map(tuple, tokens))), tuple(tokens[-1])


def weights(model: byheart.Model) -> bytes:
    return b"".join(bytes(piece) for piece in model.claim.weights(model))


def worlds(pairs: int, sequences: int) -> dict:
    equal = 0
    for seed in range(pairs):
        data = random_data(sequences, seed=seed, labels=3)
        tokens, _ = data[seed % sequences]
        folders = []
        with tempfile.TemporaryDirectory() as place:
            for label in (0, 1):
                rows = [(x, label if context_key(x) == context_key(tokens) else y) for x, y in data]
                world = Dataset.from_rows(rows)
                model = byheart.compile(world, editable())
                folder = Path(place) / str(label)
                forget(model, world, [tokens]).model.save(folder)
                folders.append({x.name: x.read_bytes() for x in folder.iterdir()})
        equal += folders[0] == folders[1]
    print("worlds", equal, "of", pairs, flush=True)
    return {"N": sequences, "pairs": pairs, "equal": equal}


def removals(sequences: int, count: int) -> dict:
    data = random_data(sequences, seed=0)
    model = byheart.compile(data, editable())
    rng, kept = random.Random(1), 0
    for row in rng.sample(range(len(data)), count):
        found = forget(model, data, [data[row][0]])
        before, after = (x.about["search"]["structure"] for x in (model, found.model))
        kept += before == after
    print("removals", sequences, kept, "of", count, flush=True)
    return {"N": sequences, "removals": count, "kept": kept}


def decoder(contexts: int) -> dict:
    rng = random.Random(contexts)
    words = [f"w{i:02}" for i in range(40)]
    inputs = {tuple(rng.choices(words, k=5)) for _ in range(contexts)}
    rows = [(list(tokens), rng.choice(words)) for tokens in sorted(inputs)]
    data = Dataset.from_rows(rows)
    model = byheart.compile(data, "one-layer", prove_limit=0)
    tokens, label = rows[len(rows) // 2]
    other = next(word for word in words if word != label)
    found = edit(model, data, [(tokens, other)], prove_limit=0)
    places = found.difference.places
    neurons = {place.column for place in places if place.tensor == "output.weight"}
    row = {"contexts": len(rows), "parameters": model.parameters.dense}
    row |= {"touched": len(places), "neurons": len(neurons)}
    print(row, flush=True)
    return row


def markdown(results: dict) -> str:
    lines = [
        "| sequences | contexts | parameters, editable | ordinary | ratio | bits, editable | "
        "ordinary | compile, CPU s | label edit, CPU s | times faster |",
        "| ---: " * 10 + "|",
    ]
    for row in results.get("sizes", ()):
        ratio, faster = row["editable"] / row["ordinary"], row["compile"] / row["edit"]
        lines.append(
            f"| {row['N']:,} | {row['contexts']:,} | {row['editable']:,} | {row['ordinary']:,} "
            f"| {ratio:.3f} | {row['bits']:,} | {row['ordinary_bits']:,} "
            f"| {row['compile']:.2f} | {row['edit']:.3f} | {faster:.0f} |"
        )
    lines += ["", "| what was tried | outcome |", "| --- | --- |"]
    for row in results.get("histories", ()):
        lines.append(
            f"| {row['edits']:,} random edits of {row['N']:,} items in {row['batches']} batches: "
            f"the weights are those of a fresh compile | {row['equal']} of {row['batches']} "
            f"batches, all items proved in {row['proved']} |"
        )
    if row := results.get("worlds"):
        lines.append(
            f"| two worlds with different labels for a forgotten item: every file is the same | "
            f"{row['equal']} of {row['pairs']} |"
        )
    for row in results.get("removals", ()):
        lines.append(
            f"| forgetting one of {row['N']:,} items keeps the structure in place | "
            f"{row['kept']} of {row['removals']} |"
        )
    for row in results.get("decoders", ()):
        lines.append(
            f"| a label edit of `one-layer` with {row['contexts']:,} contexts | touches "
            f"{row['touched']} of {row['parameters']:,} parameters, {row['neurons']} neurons |"
        )
    return "\n".join(lines)


def missed(results: dict) -> list[str]:
    """Limits that do not hold."""
    found = []
    for row in results.get("sizes", ()):
        if row["editable"] > LIMITS.get(row["N"], 1 << 60):
            found.append(f"N = {row['N']}: {row['editable']} parameters")
        if row["compile"] / row["edit"] < FASTER.get(row["N"], 0):
            found.append(f"N = {row['N']}: {row['compile'] / row['edit']:.1f} times faster")
    for row in results.get("histories", ()):
        if min(row["equal"], row["proved"]) < row["batches"]:
            found.append(f"history of {row['N']}")
    if (row := results.get("worlds")) and row["equal"] < row["pairs"]:
        found.append("two worlds differ")
    found += [
        f"{row['touched']} touched" for row in results.get("decoders", ()) if row["touched"] > 10
    ]
    return found


def write(text: str) -> None:
    path = ROOT / "docs/edit.md"
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def parts(largest: int, datasets: int) -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    ten = largest >= 10_000
    return {
        "sizes": lambda: [sizes(n, datasets) for n in LIMITS if n <= largest],
        "worlds": lambda: worlds(100, 30),
        "decoders": lambda: [decoder(n) for n in (100, 1000, 10_000) if n <= largest],
        "removals": lambda: [removals(1000, 20), *([removals(10_000, 5)] if ten else [])],
        "histories": lambda: [history(1000, 1000, 10), *([history(10_000, 100, 5)] if ten else [])],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=100_000)
    parser.add_argument("--datasets", type=int, default=5)
    parser.add_argument("--parts", nargs="*", help="only these; the others are as in edit.json")
    parser.add_argument(
        "--write", action="store_true", help="write edit.json and the tables in docs/edit.md"
    )
    options = parser.parse_args()
    record = ROOT / "benchmarks/edit.json"
    results = json.loads(record.read_text()) if options.parts and record.exists() else {}
    sizes(100, 1)  # kernels are compiled before anything is timed
    for name, measure in parts(options.largest, options.datasets).items():
        if options.parts is None or name in options.parts:
            results[name] = measure()
            results["machine"] = f"{platform.machine()}, Python {platform.python_version()}"
            if options.write:
                record.write_text(json.dumps(results, indent=1) + "\n")
                write(markdown(results))
    print(markdown(results))
    if found := missed(results):
        sys.exit("not reached: " + "; ".join(found))


if __name__ == "__main__":
    main()
