"""Attention-only transformers: conditioning, accuracy, evidence, and time by stage.

T_0 different contexts of S tokens drawn uniformly, each with a random label. Every row is measured
in a process of its own, warm (the same work was done before on 100 contexts). "LU" is a bare
factorisation of a random matrix of the size of the features, in the same process: "ratio" is how
many times as long features and solve take, and the least of three runs counts for each.
"""

import json
import time
from collections.abc import Callable

import numpy as np

import byheart
from byheart.constructions.attention_only import AttentionOnly
from byheart.constructions.attention_only.plan import make_plan
from byheart.data.contexts import contexts
from byheart.data.dataset import Dataset
from byheart.data.load import from_rows
from byheart.data.targets import targets
from byheart.gadgets import heads as gadget
from byheart.gadgets import heads as solving

from .report import Options, machine, table

RUNS = 3
# contexts, vocabulary, length, options
ROWS: list[tuple[int, int, int, dict]] = [
    (1000, 50, 2, {"dimension": 10}),
    (1000, 50, 2, {"dimension": 10, "tight": True}),
    (1000, 1000, 8, {"dimension": 10}),
    (300, 50, 2, {"dimension": 2}),
    (2500, 50, 2, {"dimension": 10}),
    (4000, 1000, 64, {"dimension": 16}),
]


def associations(count: int, vocabulary: int, length: int, seed: int = 0) -> Dataset:
    """Different contexts, each with a label that is one of the tokens."""
    random = np.random.default_rng(seed)
    if vocabulary**length <= 4 * count:
        drawn = random.permutation(vocabulary**length)[:count]
        tokens = np.array(np.unravel_index(drawn, (vocabulary,) * length)).T
    else:
        tokens = np.unique(random.integers(0, vocabulary, (2 * count, length)), axis=0)
        tokens = random.permutation(tokens)[:count]
    labels = random.integers(0, vocabulary, count)
    return from_rows(list(zip(tokens.tolist(), labels.tolist(), strict=True)))


def least(work: Callable[[], object]) -> float:
    """Seconds of the fastest of some runs."""
    seconds = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def stages(dataset: Dataset, options: dict) -> dict:
    """Seconds of the features, of solving with them, and of a bare LU; and the condition number."""
    from scipy.linalg import lu_factor

    followers = targets(dataset, contexts(dataset, positions=True))
    chosen = make_plan("", followers, AttentionOnly(**options))
    tokens, shape = gadget.rows(chosen.targets), chosen.shape
    started = time.perf_counter()
    drawn = solving.drawn(shape, tokens, np.random.default_rng([0, 1]))
    selecting = time.perf_counter() - started
    features = gadget.features(drawn, tokens)
    wanted = np.random.default_rng(0).standard_normal((len(tokens), shape.dimension))
    square = np.random.default_rng(0).standard_normal((len(tokens), len(tokens)))
    return {
        "draw": selecting,
        "features": least(lambda: gadget.features(drawn, tokens)),
        "solve": least(lambda: solving.solve(features, wanted)),
        "lu": least(lambda: lu_factor(square)),
        "condition": solving.solve(features, wanted).condition,
    }


def measured(count: int, vocabulary: int, length: int, options: dict) -> dict:
    byheart.compile(
        associations(min(count, 100), min(vocabulary, 50), 2), method="attention-only", **options
    )
    dataset = associations(count, vocabulary, length)
    model = byheart.compile(dataset, method="attention-only", **options)
    verified, shape = model.verification, model.network.shape
    return {
        "contexts": len(dataset),
        "vocabulary": shape.vocabulary,
        "length": shape.length,
        "options": options,
        "dimension": shape.dimension,
        "heads": shape.heads,
        "parameters": shape.parameters,
        "accuracy": verified.fit.accuracy,
        "largest": verified.fit.max,
        "evidence": verified.evidence,
        "tries": model.record.search.tries,
        "float32": model.record.notes[-1],
        "build": model.record.seconds["build"],
        "verify": model.record.seconds["verify"],
        **stages(dataset, {name: value for name, value in options.items() if name != "tight"}),
    }


def measure(options: Options) -> dict:
    chosen = [(9, 3, 2, {"dimension": 2})] if options.tiny else ROWS
    rows = []
    for row in chosen:
        if options.largest is None or row[0] <= options.largest:
            rows.append(options.apart(measured, *row))
            print(json.dumps(rows[-1]), flush=True)
    return {"machine": machine(), "rows": rows}


def markdown(results: dict) -> str:
    heads = ("T_0", "N", "S", "d", "H", "parameters", "accuracy", "evidence", "float32",
             "condition", "draw, s", "features, s", "solve, s", "LU, s", "ratio", "build, s",
             "verify, s")  # fmt: skip
    body = [
        (row["contexts"], row["vocabulary"], row["length"],
         f"{row['dimension']}{' --tight' if row['options'].get('tight') else ''}",
         row["heads"], row["parameters"], f"{100 * row['accuracy']:g} %", row["evidence"],
         row["float32"].rpartition(", ")[2], f"{row['condition']:.0e}",
         *(f"{row[x]:.2f}" for x in ("draw", "features", "solve", "lu")),
         f"{(row['features'] + row['solve']) / row['lu']:.1f}", f"{row['build']:.1f}",
         f"{row['verify']:.1f}")
        for row in results["rows"]
    ]  # fmt: skip
    return table(heads, body)
