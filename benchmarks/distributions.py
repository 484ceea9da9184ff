"""Decoders that store distributions: sizes, divergences, evidence, time and memory.

Contexts are the beginnings (1 to 10 tokens) of documents of 11 tokens drawn from Zipf's law, as
many documents as it takes for n different contexts. Every row is measured in a process of its own:
build and proof warm (the same work was done before on 200 contexts, so that nothing is being
compiled), peak memory above the state after that, and the independent checker from the saved
folder.

Baselines, on the same contexts in the same process: "solve" is the paper's algorithm after Theorem
5 with numpy.linalg.solve (tanh, d = 64, m = n), "balls" the dense proof in arb (no structure used).
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import byheart
from byheart.data.contexts import contexts
from byheart.data.dataset import Dataset
from byheart.data.load import from_rows
from byheart.data.targets import targets
from byheart.softmax.prove import targets_of

from .report import ROOT, Options, machine, table

TOKENS = 11  # of a document
SOLVED, ENCLOSED = 3000, 300  # contexts up to which the baselines run
CHECKED = 10_000
ROWS = [
    *[("one-layer", n, omega, {"activation": name})
      for name in ("logistic", "tanh", "erf")
      for n, omega in ((1000, 1000), (10_000, 1000), (100_000, 50), (100_000, 500))],
    *[("one-layer", n, 1000, {"activation": "gelu"}) for n in (1000, 3000, 10_000)],
    *[("one-layer", n, 1000, {"activation": "arctan"}) for n in (300, 1000, 10_000)],
    ("one-layer", 10_000, 1000, {"dimension": 16, "heads": 2, "head_dimension": 8, "skip": True}),
    *[("token-averaging", n, omega, {})
      for n, omega in ((1000, 1000), (10_000, 1000), (100_000, 50))],
    ("one-layer-smooth", 1000, 1000, {}),
    ("one-layer-narrow", 1000, 50, {}),
    ("one-layer-literal", 50, 50, {}),
]  # fmt: skip


def documents(n: int, omega: int, seed: int = 0) -> Dataset:
    """The beginnings of Zipf documents, until there are n different ones."""
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(1, omega + 1)
    known: set[tuple[int, ...]] = set()
    rows: list[tuple[list[int], int]] = []
    while len(known) < n:
        drawn = random.choice(omega, (256, TOKENS), p=shares / shares.sum()).tolist()
        for document in drawn:
            for end in range(1, TOKENS):
                known.add(tuple(document[:end]))
                if len(known) > n:
                    return _whole(rows, omega)
                rows.append((document[:end], document[end]))
    return _whole(rows, omega)


def _whole(rows: list[tuple[list[int], int]], omega: int) -> Dataset:
    """With every token of the vocabulary, as a label of the first context."""
    seen = {label for _, label in rows}
    first = rows[0][0]
    return from_rows([*rows, *((first, token) for token in range(omega) if token not in seen)])


def measured(method: str, n: int, omega: int, options: dict) -> dict:
    dataset = documents(n, omega)
    small = min(n, 200)
    byheart.compile(documents(small, min(omega, 50)), method=method, **options)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = byheart.compile(dataset, method=method, **options)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    verified, record = model.verification, model.record
    row = {
        "method": method,
        "options": options,
        "activation": model.network.shape.activation,
        "n": record.data.contexts,
        "omega": model.network.shape.vocabulary,
        "m": model.network.shape.neurons,
        "dense": model.network.shape.parameters,
        "nonzero": model.parameters.nonzero,
        "gap": model.claim.gap,
        "mean": verified.fit.mean,
        "max": verified.fit.max,
        "evidence": verified.evidence,
        "engine": verified.engine,
        "build": record.seconds["build"],
        "verify": record.seconds["verify"],
        "megabytes": (peak - before) / 1024,
        "tensors": 8 * model.network.shape.parameters / 1e6,
    }
    row["checker"] = checked(model, dataset) if n <= CHECKED else None
    if method == "one-layer" and options == {"activation": "tanh"} and n <= SOLVED:
        row["solve"] = solved(dataset)
    return row


def checked(model, dataset: Dataset) -> dict:
    """What the independent checker says, and how long it takes."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        model.save(folder, data=dataset)
        command = [sys.executable, ROOT / "checker/check.py", folder, folder / "data.jsonl"]
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.perf_counter() - started
    return {"code": done.returncode, "said": done.stdout.split("\n")[0], "seconds": seconds}


def solved(dataset: Dataset) -> float:
    """Seconds of the paper's algorithm: random weights, kinks at the data, one dense solve."""
    followers = targets(dataset, contexts(dataset, positions=True))
    n, omega, d = len(followers), len(followers.vocabulary), 64
    random = np.random.default_rng(0)
    points = random.normal(size=(n, d))
    wanted = np.zeros((n, omega))
    wanted[np.repeat(np.arange(n), followers.support), followers.following] = 30
    started = time.perf_counter()
    slopes = 4 * random.normal(size=(n, d)) / np.sqrt(d)
    active = np.tanh(points @ slopes.T + (0.5 - (slopes * points).sum(axis=1)))
    np.linalg.solve(active, wanted)
    return time.perf_counter() - started


def proofs(n: int = ENCLOSED, omega: int = 1000) -> dict:
    """Seconds of both proofs of one decoder."""
    from byheart.softmax.enclose import dense, thermometer

    dataset = documents(n, omega)
    model = byheart.compile(dataset, method="one-layer")
    wanted = targets_of(model, dataset)
    seconds = {}
    for engine in (thermometer, dense):
        started = time.perf_counter()
        bounds = engine.enclose(model.network, wanted, model.claim.gap, None)
        name = engine.__name__.rpartition(".")[2]
        seconds[name] = time.perf_counter() - started
        seconds[f"{name} max"] = float(bounds.values.max())
    return {"n": n, "omega": omega, **seconds}


def measure(options: Options) -> dict:
    if options.tiny:
        return {
            "rows": [measured("one-layer", 8, 6, {"activation": "tanh"})],
            "proofs": proofs(5, 6),
        }
    chosen = [row for row in ROWS if options.largest is None or row[1] <= options.largest]
    rows = []
    for row in chosen:
        rows.append(options.apart(measured, *row))
        print(json.dumps(rows[-1]), flush=True)
    return {"machine": machine(), "rows": rows, "proofs": options.apart(proofs)}


def named(row: dict) -> str:
    more = {k.replace("_", "-"): v for k, v in row["options"].items() if k != "activation"}
    flags = (f" --{k}" if v is True else f" --{k} {v}" for k, v in more.items())
    return row["method"] + "".join(flags)


def markdown(results: dict) -> str:
    rows, proved, body = results["rows"], results["proofs"], []
    for row in rows:
        checker = row["checker"]
        verdict = ("verified", "not verified", "too much for it")[checker["code"] if checker else 0]
        body.append(
            (named(row), row["activation"], row["n"], row["omega"], row["m"], row["dense"],
             f"{row['max']:.2e}", row["evidence"], f"{row['build']:.2f}", f"{row['verify']:.2f}",
             f"{verdict}, {checker['seconds']:.1f}" if checker else "-",
             f"{row['megabytes'] / row['tensors']:.1f}")
        )  # fmt: skip
    heads = ("method", "activation", "n", "omega", "m", "parameters", "largest KL", "evidence",
             "build, s", "verify, s", "checker, s", "memory / tensors")  # fmt: skip
    ratios = [
        f"`numpy.linalg.solve` for n = {row['n']:,}, omega = {row['omega']:,} takes "
        f"{row['solve'] / row['build']:.0f} times as long as our build."
        for row in rows
        if "solve" in row
    ]
    ratios.append(
        f"The dense proof of a decoder for n = {proved['n']}, omega = {proved['omega']:,} takes "
        f"{proved['dense'] / proved['thermometer']:.0f} times as long as the proof by structure."
    )
    return f"{table(heads, body)}\n\n{' '.join(ratios)}"
