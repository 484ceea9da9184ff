"""Verifiers of networks on properties whose truth is known: what Marabou and CROWN say of them.

Networks of a dozen to sixty random sequences become the files of `byheart export --to vnnlib`, and
each verifier is asked for every property: Marabou reads model.onnx and the .vnnlib file by itself;
auto_LiRPA is given the same matrices as doubles, and bounds the output by CROWN: it says "unsat" if
the bounds are within half a unit of the label, and otherwise nothing. A verifier that is not
installed is not asked, and the record says so. Every answer that differs from the truth is listed.
"""

import json
import re
import tempfile
import warnings
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import byheart

from .report import Options, machine, table

LIMIT = 60  # seconds for a property
MODELS = {  # method, its options, sequences, length, what a token is
    "float64, numbers": ("float64", {}, 12, 3, "numbers"),
    "float64, words": ("float64", {}, 12, 3, "words"),
    "float64, vectors": ("float64", {}, 12, 2, "vectors"),
    "float64, 60 sequences": ("float64", {}, 60, 4, "words"),
    "limited-bits, 12 bits": ("limited-bits", {"bits": 12}, 12, 2, "numbers"),
    "hash-fold-retrieve": ("hash-fold-retrieve", {}, 12, 3, "numbers"),
}
VERIFIERS = {"Marabou": "maraboupy", "CROWN": "auto_LiRPA"}


def dataset(count: int, length: int, kind: str) -> byheart.Dataset:
    random, rows = np.random.default_rng(0), {}
    while len(rows) < count:
        drawn = random.integers(0, 6, (length, 2)).tolist()
        tokens = {"words": ["abcdef"[x] for x, _ in drawn], "numbers": [x for x, _ in drawn]}
        rows.setdefault(
            str(tokens.get(kind, drawn)), (tokens.get(kind, drawn), "wxyz"[drawn[0][1] % 4])
        )
    return byheart.Dataset.from_rows(list(rows.values()))


def marabou(folder: Path, line: dict) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from maraboupy import Marabou

        network = Marabou.read_onnx(str(folder / "model.onnx"))
    options = Marabou.createOptions(verbosity=0, timeoutInSeconds=LIMIT)
    file = str(folder / line["property"])
    return network.solve(propertyFilename=file, verbose=False, options=options)[0]


def crown(folder: Path, line: dict) -> str:
    import onnx
    import torch
    from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm

    graph = onnx.load(folder / "model.onnx").graph
    tensors = {x.name: torch.tensor(onnx.numpy_helper.to_array(x)) for x in graph.initializer}
    parts: list[torch.nn.Module] = []
    for node in graph.node:
        if node.op_type == "Relu":
            parts.append(torch.nn.ReLU())
            continue
        weight, bias = (tensors[x].double() for x in node.input[1:])
        parts.append(torch.nn.Linear(*weight.shape, dtype=torch.float64))
        parts[-1].weight.data, parts[-1].bias.data = weight.T.contiguous(), bias
    text = (folder / line["property"]).read_text()
    low, high = (
        torch.tensor(
            [[*map(float, re.findall(rf"{sign} X_\d+ ([-.\d]+)", text))]], dtype=torch.float64
        )
        for sign in (">=", "<=")
    )
    inside = PerturbationLpNorm(norm=float("inf"), x_L=low, x_U=high)
    network = BoundedModule(torch.nn.Sequential(*parts), low)
    given = BoundedTensor((low + high) / 2, inside)
    a, b = (x.item() for x in network.compute_bounds(x=(given,), method="CROWN"))
    return "unsat" if line["label"] - 0.5 < a and b < line["label"] + 0.5 else "unknown"


def measured(name: str) -> dict:
    method, options, count, length, kind = MODELS[name]
    data = dataset(count, length, kind)
    model = byheart.compile(data, method, **options)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        if not byheart.export(model, "vnnlib", folder, data):
            raise SystemExit(f"{name}: an item is wrong in ONNX Runtime")
        lines = [json.loads(x) for x in (folder / "truth.jsonl").read_text().splitlines()]
        asked = {
            x: y for x, y in (("Marabou", marabou), ("CROWN", crown)) if find_spec(VERIFIERS[x])
        }
        said = {x: [ask(folder, line) for line in lines] for x, ask in asked.items()}
        size = (folder / "model.onnx").stat().st_size
    return {
        "model": name,
        "bytes": size,
        "truth": Counter(line["truth"] for line in lines),
        "answers": {
            x: Counter(f"{line['truth']}: {y}" for line, y in zip(lines, answers, strict=True))
            for x, answers in said.items()
        },
        "wrong": [
            f"{x} says {y} of {line['property']} of {name}, which is {line['truth']}"
            for x, answers in said.items()
            for line, y in zip(lines, answers, strict=True)
            if {y, line["truth"]} == {"sat", "unsat"}
        ],
    }


def measure(options: Options) -> dict:
    names = ["hash-fold-retrieve"] if options.tiny else [*MODELS]
    versions = {}
    for name, package in VERIFIERS.items():
        try:
            versions[name] = version(package)
        except PackageNotFoundError:
            versions[name] = "of its repository" if find_spec(package) else None
    rows = [options.apart(measured, name, threads=1) for name in names]
    return {"machine": machine(), "versions": versions, "rows": rows}


def markdown(results: dict) -> str:
    heads = ["network", "unsat", "sat", "unknown"]
    for name in VERIFIERS:
        heads += [f"{name}: right", f"{name}: false unsat", f"{name}: false sat"]
    body = []
    for row in results["rows"]:
        cells = [row["model"], *(row["truth"].get(x, 0) for x in ("unsat", "sat", "unknown"))]
        for name in VERIFIERS:
            found = row["answers"].get(name)
            keys = (("unsat: unsat", "sat: sat"), ("sat: unsat",), ("unsat: sat",))
            cells += [sum(found.get(x, 0) for x in key) if found else "not run" for key in keys]
        body.append(cells)
    wrong = [f"- {sentence}" for row in results["rows"] for sentence in row["wrong"]]
    return "\n".join([table(heads, body), *([""] if wrong else []), *wrong])
