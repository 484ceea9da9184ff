"""Time and memory of hash-fold-retrieve up to ten million sequences, and of its verification.

Each size is loaded from a file, built and proved on every sequence in a process of its own.
Seconds are CPU seconds of one machine; exponents between columns and ratios in one run mean more.
Ten million sequences take about three minutes and 5 GiB.
"""

import json
import math
import resource
import sys
import tempfile
import time
from pathlib import Path

import byheart
from byheart.data.generate import random, save
from byheart.exact.evaluate import evaluate
from byheart.exact.prove import batch_of_data

from .report import ROOT, Options, facts, machine, table

SIZES = (100_000, 1_000_000, 10_000_000)
RATED = 100_000  # sequences on which engines are compared


def grown(sequences: int, warm: int) -> dict:
    """Load, build and verify one dataset from a file, after the kernels are loaded."""
    byheart.compile(random(warm, seed=9))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        save(random(sequences, seed=0), path)
        started = time.process_time()
        dataset = byheart.load(path)
        load = time.process_time() - started
        model = byheart.compile(dataset)
        total = time.process_time() - started
    started = time.process_time()
    verification = byheart.verify(model, dataset)
    verify = time.process_time() - started
    assert verification.evidence == "proved" and verification.correct == sequences
    seconds = {"load": load, "build": total - load - verify, "verify": verify, "total": total}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    return {"sequences": sequences, "seconds": seconds, "peak_gib": peak, **facts(model)}


def rates(sequences: int) -> dict:
    """Sequences verified per CPU second by each program, on the same network.

    limbs    compiled kernels, warm, one thread per core
    exact    Python integers, all sequences of a chunk at once in numpy object arrays
    checker  Python integers, one sequence at a time: the independent checker
    """
    dataset = random(sequences, seed=0)
    model = byheart.compile(dataset)
    batch, wanted = batch_of_data(model, dataset)
    row: dict = {"sequences": sequences, "checker": checker_rate(model, dataset)}
    for engine in ("limbs", "exact"):
        row[engine] = 0.0
        for _ in range(2):
            started = time.process_time()
            outputs = evaluate(model.network, batch, engine)
            row[engine] = max(row[engine], len(wanted) / (time.process_time() - started))
            assert list(outputs) == wanted.tolist()
    return row


def checker_rate(model, dataset) -> float:
    """Sequences per CPU second of the independent checker, reading not counted."""
    sys.path.insert(0, str(ROOT / "checker"))
    import check

    count = min(1000, len(dataset))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.jsonl"
        rows = ({"input": dataset.sequence(i), "label": dataset.label(i)} for i in range(count))
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        model.save(Path(folder) / "model")
        opened, data = check.read_model(str(Path(folder) / "model")), check.read_data(str(path))
    vectors = check.token_vectors(opened, data)
    started = time.process_time()
    assert not any(check.wrong_answers(opened, data, vectors, i) for i in range(count))
    return count / (time.process_time() - started)


def measure(options: Options) -> dict:
    sizes = options.sizes(SIZES, (30, 40))
    largest = min(1_000_000, sizes[-1])
    return {
        "machine": machine(),
        "rows": [options.apart(grown, n, 30 if options.tiny else 3000) for n in sizes],
        "rates": options.apart(rates, min(RATED, sizes[0])),
        "dense": facts(byheart.compile(random(largest, seed=0), minimise="dense")),
        "dense_sequences": largest,
    }


def markdown(results: dict) -> str:
    rows, rated = results["rows"], results["rates"]
    pairs = list(zip(rows, rows[1:], strict=False))
    heads = [f"{row['sequences']:,}" for row in rows]
    heads += [f"exponent to {later['sequences']:,}" for _, later in pairs]

    def exponent(first: dict, later: dict, stage: str) -> str:
        times = (row["seconds"][stage] for row in (later, first))
        grown = math.log(next(times) / next(times))
        return f"{grown / math.log(later['sequences'] / first['sequences']):.2f}"

    body = [
        [f"CPU seconds: {stage}", *(f"{row['seconds'][stage]:.2f}" for row in rows),
         *(exponent(*pair, stage) for pair in pairs)]
        for stage in ("load", "build", "verify", "total")
    ]  # fmt: skip
    more = {
        "peak memory, GiB": [f"{row['peak_gib']:.2f}" for row in rows],
        "contexts": [row["contexts"] for row in rows],
        "nonzero parameters": [row["nonzero"] for row in rows],
        "encoded bits / information": [f"{row['encoded']:.3f}" for row in rows],
    }
    body += [[name, *cells, *("" for _ in pairs)] for name, cells in more.items()]
    rate = float(f"{rated['limbs']:.2g}")
    sentence = (
        f"Evaluation alone of {rated['sequences']:,} prepared sequences, the better of two runs: "
        f"the compiled kernels take {rate:,.0f} per CPU second, "
        f"{rated['limbs'] / rated['exact']:.0f} times as many as Python integers in numpy object "
        f"arrays and {rated['limbs'] / rated['checker']:.0f} times as many as the independent "
        "checker, timed on 1,000 of them. With `--minimise dense`, "
        f"{results['dense_sequences']:,} sequences take "
        f"{results['dense']['dense']:,} parameters, zeros included."
    )
    return f"{table(['', *heads], body)}\n\n{sentence}"
