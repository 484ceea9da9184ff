"""What a network's size depends on, one quantity at a time: not on the length of the sequences.

Every dataset is random and stored as an .npz file, which is read, compiled with the default method
and proved on all of it, in a process of its own. N sequences have two labels unless they are what
changes.
"""

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import byheart
from byheart.pictures import BLUE, GREEN, canvas, entitle, legend, ticks, write

from .report import ROOT, Options, machine, table

SEQUENCES, TOKENS = 10_000, 5000
PER_TOKEN = 1000  # sequences where every token has a label
SWEEPS = {  # what changes, and its values
    "length": (4, 16, 64, 256, 1024),
    "labels": (2, 16, 256, 5000, 10_000),
    "dimension": (2, 8, 64, 768),
    "per token": (8, 32, 128),
}
TINY = {"length": (4, 8), "labels": (2, 16), "dimension": (2, 64), "per token": (4, 8)}
TITLES = {
    "length": "tokens in a sequence",
    "labels": "labels",
    "dimension": "coordinates of a vector",
    "per token": "tokens in a sequence, one label per token",
}


def data(sweep: str, value: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels: tokens, single vectors rounded to 3 decimals, or tokens with labels."""
    random = np.random.default_rng(77)
    if sweep == "per token":
        inputs = np.stack([random.permutation(TOKENS)[:value] for _ in range(count)])
        return inputs, random.integers(0, 2, inputs.shape)
    if sweep == "dimension":
        inputs = np.round(random.standard_normal((count, 1, value)).astype(np.float32), 3)
        return inputs, random.integers(0, 2, count)
    length, labels = (value, 2) if sweep == "length" else (4, value)
    return random.integers(0, TOKENS, (count, length)), random.integers(0, labels, count)


def built(sweep: str, value: int, count: int) -> dict[str, Any]:
    """The network of one dataset."""
    warm = byheart.Dataset.from_rows([([i], i % 2) for i in range(50)])
    byheart.compile(warm)  # its kernels
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        inputs, labels = data(sweep, value, count)
        np.savez(path, inputs=inputs, labels=labels)
        start = time.process_time()
        model = byheart.compile(path, on_conflict="majority")  # vectors of few coordinates meet
    used = time.process_time() - start
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    verified, bits = model.verification, model.bits
    assert verified is not None
    return {
        "sweep": sweep,
        "value": value,
        "sequences": count,
        "answers": verified.checked,
        "nonzero": model.parameters.nonzero,
        "code": bits.encoded / bits.entropy,
        "evidence": verified.evidence,
        "seconds": round(used, 2),
        "gibibytes": round(kibibytes / 2**20, 2),
    }


def measure(options: Options) -> dict:
    rows = []
    for sweep, values in (TINY if options.tiny else SWEEPS).items():
        full = PER_TOKEN if sweep == "per token" else SEQUENCES
        for value in values:
            rows.append(options.apart(built, sweep, value, 40 if options.tiny else full))
            print(rows[-1], flush=True)
    return {"machine": machine(), "rows": rows}


def markdown(results: dict) -> str:
    heads = ("what changes", "its value", "answers", "nonzero parameters", "code word / entropy",
             "evidence", "read, built and proved, CPU s", "peak GiB")  # fmt: skip
    body = [
        (TITLES[x["sweep"]], x["value"], x["answers"], x["nonzero"], f"{x['code']:.2f}",
         x["evidence"], f"{x['seconds']:.1f}", f"{x['gibibytes']:.2f}")
        for x in results["rows"]
    ]  # fmt: skip
    sizes = [x["nonzero"] for x in results["rows"] if x["sweep"] == "length"]
    last = [x for x in results["rows"] if x["sweep"] == "per token"]
    roots = ", ".join(f"{x['nonzero'] / x['answers'] ** 0.5:.2f}" for x in last)
    said = (
        f"From the shortest to the longest sequences the networks have {min(sizes):,} to "
        f"{max(sizes):,} parameters. With one label per token they have {roots} times the square "
        "root of the number of answers."
    )
    return f"{table(heads, body)}\n\n{said}"


def missed(results: dict) -> list[str]:
    """The papers' headline: the size does not depend on the length."""
    sizes = [x["nonzero"] for x in results["rows"] if x["sweep"] == "length"]
    found = [f"{x['value']}: not proved" for x in results["rows"] if x["evidence"] != "proved"]
    return found + (["the size depends on the length"] if max(sizes) > 1.05 * min(sizes) else [])


def publish(results: dict) -> None:
    write(draw, results, ROOT / "docs" / "shape.svg")


def draw(results: dict) -> Any:
    """Parameters by length, of one label per sequence and of one per token."""
    figure, axes = canvas(6.4, 3.6, "log")
    for sweep, colour, label in (
        ("length", BLUE, f"{SEQUENCES:,} sequences, one label each"),
        ("per token", GREEN, f"{PER_TOKEN:,} sequences, one label per token"),
    ):
        rows = [x for x in results["rows"] if x["sweep"] == sweep]
        places = [x["value"] for x in rows], [x["nonzero"] for x in rows]
        axes.plot(*places, "o-", color=colour, label=label)
    axes.set_ylim(200, 3000)
    entitle(axes, "Size by length, two labels", "tokens in a sequence", "nonzero parameters")
    ticks(axes.xaxis, list(SWEEPS["length"]))
    ticks(axes.yaxis, [200, 500, 1000, 2000])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:.0f}")
    legend(figure, 1, 9)
    return figure
