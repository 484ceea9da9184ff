"""Editable networks: their size, the cost of an edit, and whether edits are what they claim.

sizes      nonzero parameters of editable networks and of ordinary ones, medians over datasets;
           seconds to build the network after a label edit (the recorded structure, solved again)
           and from scratch, without loading and verifying
histories  random changes, additions and removals in batches; after each, the weights are compared
           with those of a fresh compile of the edited rows in another order
worlds     two datasets that differ in one item's label: after forgetting it, every file is compared
removals   how many keep the structure in place
decoders   parameters and neurons of one-layer that a label edit touches
"""

import random
import tempfile
from pathlib import Path

import byheart
from byheart.data.dataset import Dataset
from byheart.data.generate import random as random_data
from byheart.models.kinds import kind_of

from .report import Options, facts, machine, of, table

LIMITS = {1000: 295, 10_000: 585, 100_000: 1390}  # nonzero parameters
DATASETS = {1000: 5, 10_000: 3, 100_000: 1}
FASTER = {10_000: 50, 100_000: 6}  # times, a label edit against a compile
METHOD = "hash-fold-retrieve"


def editable(data: Dataset) -> byheart.Model:
    return byheart.compile(data, METHOD, editable=True, positions=False)


def sizes(sequences: int, datasets: int) -> dict:
    rows = []
    for seed in range(datasets):
        data = random_data(sequences, seed=seed)
        model = editable(data)
        assert model.verification.evidence == "proved"
        tokens, label = data[seed]
        edited = byheart.edit(model, data, [(tokens, 1 - label)])
        assert edited.same and edited.model.verification.evidence == "proved"
        ordinary = byheart.compile(data, METHOD, positions=False, sample=100)
        rows.append(
            {
                "contexts": facts(model)["contexts"],
                "editable": model.parameters.nonzero,
                "ordinary": ordinary.parameters.nonzero,
                "bits": model.bits.total,
                "ordinary_bits": ordinary.bits.total,
                "compile": facts(model)["build"],
                "edit": facts(edited.model)["build"],
            }
        )
        print(sequences, rows[-1], flush=True)
    medians = {name: sorted(row[name] for row in rows)[len(rows) // 2] for name in rows[0]}
    return {"N": sequences, "datasets": rows, **medians}


def history(sequences: int, edits: int, batches: int) -> dict:
    """Batches of random edits; every other one changes labels alone and so stays in place."""
    rng = random.Random(sequences)
    pool = random_data(2 * sequences, seed=7)
    every = {context_key(tokens): (tokens, label) for tokens, label in pool}
    items = list(every.values())
    rng.shuffle(items)
    rows, spare = items[:sequences], items[sequences:]
    data = Dataset.from_rows(rows)
    model = editable(data)
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
        result = byheart.edit(model, data, change, add or None, remove)
        model, data = result.model, result.data
        shuffled = list(data)
        rng.shuffle(shuffled)
        fresh = editable(Dataset.from_rows(shuffled))
        equal += weights(fresh) == weights(model)
        proved += model.verification.evidence == "proved"
        print(sequences, "batch", batch + 1, equal, proved, flush=True)
    return {"N": sequences, "edits": edits, "batches": batches, "equal": equal, "proved": proved}


def context_key(tokens: list) -> tuple:
    return tuple(sorted(map(tuple, tokens))), tuple(tokens[-1])


def weights(model: byheart.Model) -> bytes:
    return b"".join(bytes(piece) for piece in kind_of(model).store.weights(model))


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
                model = editable(world)
                folder = Path(place) / str(label)
                byheart.forget(model, world, [tokens]).model.save(folder)
                folders.append({x.name: x.read_bytes() for x in folder.iterdir()})
        equal += folders[0] == folders[1]
    print("worlds", equal, "of", pairs, flush=True)
    return {"N": sequences, "pairs": pairs, "equal": equal}


def removals(sequences: int, count: int) -> dict:
    data = random_data(sequences, seed=0)
    model = editable(data)
    rng, kept = random.Random(1), 0
    for row in rng.sample(range(len(data)), count):
        kept += byheart.forget(model, data, [data[row][0]]).same
    print("removals", sequences, kept, "of", count, flush=True)
    return {"N": sequences, "removals": count, "kept": kept}


def decoder(count: int) -> dict:
    rng = random.Random(count)
    words = [f"w{i:02}" for i in range(40)]
    inputs = {tuple(rng.choices(words, k=5)) for _ in range(count)}
    rows = [(list(tokens), rng.choice(words)) for tokens in sorted(inputs)]
    data = Dataset.from_rows(rows)
    model = byheart.compile(data, "one-layer", prove_limit=0)
    tokens, label = rows[len(rows) // 2]
    other = next(word for word in words if word != label)
    places = byheart.edit(model, data, [(tokens, other)], prove_limit=0).difference.places
    neurons = {place.column for place in places if place.tensor == "output.weight"}
    row = {"contexts": len(rows), "parameters": model.parameters.dense}
    row |= {"touched": len(places), "neurons": len(neurons)}
    print(row, flush=True)
    return row


def measure(options: Options) -> dict:
    if options.tiny:
        return {
            "sizes": [sizes(20, 1)],
            "worlds": worlds(1, 6),
            "decoders": [decoder(10)],
            "removals": [removals(20, 1)],
            "histories": [history(20, 4, 2)],
        }
    sizes(100, 1)  # kernels are compiled before anything is timed
    ten = options.largest is None or options.largest >= 10_000
    return {
        "machine": machine(),
        "sizes": [sizes(n, DATASETS[n]) for n in options.sizes(LIMITS, ())],
        "worlds": worlds(100, 30),
        "decoders": [decoder(n) for n in options.sizes((100, 1000, 10_000), ())],
        "removals": [removals(1000, 20), *([removals(10_000, 5)] if ten else [])],
        "histories": [history(1000, 1000, 10), *([history(10_000, 100, 5)] if ten else [])],
    }


def markdown(results: dict) -> str:
    heads = ("sequences", "contexts", "parameters, editable", "ordinary", "ratio",
             "digits, editable", "ordinary", "compile, s", "label edit, s",
             "times faster")  # fmt: skip
    body = [
        (row["N"], row["contexts"], row["editable"], row["ordinary"],
         f"{row['editable'] / row['ordinary']:.3f}", row["bits"], row["ordinary_bits"],
         f"{row['compile']:.2f}", f"{row['edit']:.3f}", f"{row['compile'] / row['edit']:.0f}")
        for row in results["sizes"]
    ]  # fmt: skip
    tried = [
        (f"{row['edits']:,} random edits of {row['N']:,} items in {row['batches']} batches: the "
         "weights are those of a fresh compile",
         f"{of(row['equal'], row['batches'])} batches, all items proved in {row['proved']}")
        for row in results["histories"]
    ]  # fmt: skip
    row = results["worlds"]
    tried.append(
        ("two worlds with different labels for a forgotten item: every file is the same",
         of(row["equal"], row["pairs"]))
    )  # fmt: skip
    tried += [
        (f"forgetting one of {row['N']:,} items keeps the structure in place",
         of(row["kept"], row["removals"]))
        for row in results["removals"]
    ]  # fmt: skip
    tried += [
        (f"a label edit of `one-layer` with {row['contexts']:,} contexts",
         f"touches {of(row['touched'], row['parameters'])} parameters, {row['neurons']} neurons")
        for row in results["decoders"]
    ]  # fmt: skip
    return f"{table(heads, body)}\n\n{table(('what was tried', 'outcome'), tried)}"


def missed(results: dict) -> list[str]:
    lines = []
    for row in results["sizes"]:
        if row["editable"] > LIMITS.get(row["N"], 1 << 60):
            lines.append(f"N = {row['N']}: {row['editable']} parameters")
        if row["compile"] / row["edit"] < FASTER.get(row["N"], 0):
            lines.append(f"N = {row['N']}: {row['compile'] / row['edit']:.1f} times faster")
    for row in results["histories"]:
        if min(row["equal"], row["proved"]) < row["batches"]:
            lines.append(f"history of {row['N']}")
    if results["worlds"]["equal"] < results["worlds"]["pairs"]:
        lines.append("two worlds differ")
    touched = (row["touched"] for row in results["decoders"])
    return lines + [f"{count} touched" for count in touched if count > 10]
