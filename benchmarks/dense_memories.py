"""Dense memories: facts per parameter of those that are solved and of those that are trained.

Every memory is one hidden layer, of GPT-2's form (GELU) or of Llama's (SwiGLU), which reads the
normed streams of a `--superposed` checkpoint and must say the next token. Two of them are solved
here, in doubles, and rounded to float32:

gated   Gates are random and fixed, so what is written is linear in the up-projection: one equation
        per prediction, and a solution of the smallest norm (the form of Dugan et al. 2025, arXiv
        2512.00207, of which the abstract was read).
newton  GPT-2's form, with fixed outputs: Gauss-Newton steps of the smallest norm on the keys and
        biases, begun with random keys.

Both write one number: answers have places on a line, one apart, and the nearest place is decoded.
Products with the embedding do that: logits x c - c^2 / 2 are largest for the c next to x. So
`newton` is put into the checkpoint and all predictions are bounded like those of any other. For
`gated` the memory alone is bounded, with streams that are exact. Of the other memories, located and
superposed ones are compiled, and one of the shape of `newton` is trained as superposed ones are.
"""

import json
import math
import tempfile
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

import byheart
from byheart.api import configure
from byheart.constructions import find
from byheart.constructions.stock import superposed
from byheart.constructions.stock.located import first_streams
from byheart.machine.watch import Watch
from byheart.stock import enclose
from byheart.stock.arithmetic import sums
from byheart.stock.checkpoint import Checkpoint
from byheart.stock.forward import gelu_new, silu
from byheart.stock.texts import texts_of

from .report import Options, cpu_seconds, of, table
from .stock import facts

U = 2.0**-24  # the roundoff of float32
ROOMS = (1.1, 1.2, 1.3, 1.4, 1.6, 2.0)  # unknowns per equation that are tried
FEWEST = 8  # neurons
STEPS, CLOSE = 40, 1e-2  # of Gauss and Newton, and how near to its place an answer must come
DAMPED = 1e-2  # of the mean of the diagonal, at first
LARGEST = 2.0  # the normed lane at the last place of the line
STRENGTH = 20.0  # nats between neighbours on the line
TOKENIZERS = ("bpe:8000", "bpe:1000:used")
FORMS = {
    "located": "located neurons (the default)",
    "superposed": "`--superposed 0`: trained",
    "trained": "trained, with the neurons of the next row",
    "newton": "GELU, solved by Gauss-Newton steps",
    "gated": "SwiGLU, solved in closed form",
}


class Task(NamedTuple):
    """What a memory has to do."""

    network: Checkpoint  # with an empty memory
    known: list[np.ndarray]  # the contexts, by the numbers of the checkpoint
    answers: np.ndarray  # token numbers, [N]
    out: slice  # the lanes of the codes
    codes: np.ndarray  # of all tokens


def task(dataset: byheart.Dataset) -> Task:
    method = replace(find("gpt2"), superposed=1)
    data, grouped = configure.prepare(method, method.prepared(dataset), "majority")
    plan, known, answers = method.planned(data, grouped)
    shell = method.shell(plan, answers, np.random.default_rng(0))
    return Task(shell.network, known, answers, shell.out, shell.codes)


def line(answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tokens that follow, and their places, 1 apart; frequent ones are near 0."""
    used, count = np.unique(answers, return_counts=True)
    places = np.arange(len(used)) - (len(used) - 1) / 2
    found = np.empty(len(used))
    found[np.argsort(-count, kind="stable")] = places[np.argsort(np.abs(places), kind="stable")]
    return used, found


def random_keys(streams: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    return superposed._random_keys(streams, count, np.random.default_rng(0))


def solved(kernel: np.ndarray, wanted: np.ndarray, damped: float) -> np.ndarray:
    kernel[np.diag_indices(len(kernel))] += damped * kernel.diagonal().mean()
    return cho_solve(cho_factor(kernel, check_finite=False), wanted, check_finite=False)


# --- Llama's form, in closed form


def gated(streams: np.ndarray, wanted: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gates and up-projection [D, M] whose products add up to what is wanted."""
    gates = random_keys(streams, count)[0].astype(np.float32)
    factor = silu(streams @ gates.astype(np.float64))  # [N, M]
    kernel, up = (streams @ streams.T) * (factor @ factor.T), np.zeros(gates.shape)
    for _ in range(3):  # what the damping leaves is solved again
        rest = wanted - ((streams @ up) * factor).sum(axis=1)
        up += streams.T @ (solved(kernel.copy(), rest, 1e-12)[:, None] * factor)
    return gates, up.astype(np.float32)


def gated_error(
    streams: np.ndarray, wanted: np.ndarray, gates: np.ndarray, up: np.ndarray
) -> np.ndarray:
    """How far float32 may be from what is wanted at most, in any order of summation, [N]."""
    y, g, u = (a.astype(np.float64) for a in (streams.astype(np.float32), gates, up))
    z, factor, several = y @ g, y @ u, (len(g) + 1) * U
    gate = silu(z)
    around = 1.1 * several * (np.abs(y) @ np.abs(g)) + 16 * U * np.abs(gate)
    other = several * (np.abs(y) @ np.abs(u))
    loose = around * (np.abs(factor) + other) + np.abs(gate) * other
    loose += (g.shape[1] + 2) * U * (np.abs(gate * factor) + loose)
    return np.abs((gate * factor).sum(axis=1) - wanted) + loose.sum(axis=1) * (1 + 1e-6)


# --- GPT-2's form, by Gauss-Newton steps


def newton(streams: np.ndarray, wanted: np.ndarray, count: int) -> tuple[np.ndarray, ...] | None:
    """Keys [D, M], biases and outputs [M]; None if they do not come near enough."""
    read = np.column_stack([streams, np.ones(len(streams))])
    weights, products = np.vstack(random_keys(streams, count)), read @ read.T
    signs = np.random.default_rng(1).choice([-1.0, 1.0], count)
    outputs = signs * max(1.0, wanted.std()) / math.sqrt(count)
    rest, damped = wanted - gelu_new(read @ weights) @ outputs, DAMPED
    for _ in range(STEPS):
        slope = slope_of(read @ weights) * outputs
        near = min(1.0, np.abs(rest).max())
        found = solved(products * (slope @ slope.T), rest, damped * near)
        step, size = read.T @ (found[:, None] * slope), 1.0
        while True:
            after = wanted - gelu_new(read @ (weights + size * step)) @ outputs
            if after @ after < rest @ rest or size < 1e-3:
                break
            size /= 2
        weights, rest = weights + size * step, after
        damped *= 0.2 if size == 1 else 2.0 if size < 0.25 else 1.0
        if np.abs(rest).max() < CLOSE:
            return weights[:-1], weights[-1], outputs
    return None


def slope_of(z: np.ndarray) -> np.ndarray:
    """The derivative of gelu_new."""
    root = math.sqrt(2 / math.pi)
    tanh = np.tanh(root * (z + 0.044715 * z**3))
    return (1 + tanh + z * (1 - tanh * tanh) * root * (1 + 3 * 0.044715 * z * z)) / 2


def lined(given: Task) -> tuple[Task, np.ndarray]:
    """The checkpoint whose answers are decoded from lane 0, and the place of each answer."""
    used, places = line(given.answers)
    most, code = max(1.0, np.abs(places).max()), given.out.stop + superposed.MARK
    tensors = {name: x.copy() for name, x in given.network.tensors.items()}
    embedding = tensors["transformer.wte.weight"]
    c = np.random.default_rng(2).uniform(-most, most, len(embedding))
    c[used] = places
    square = 1 - 2 * (c / most) ** 2
    embedding[:, :4] = np.column_stack([c / most, -c / most, square, -square])
    gain = 2 * STRENGTH * most**2 / LARGEST
    tensors["transformer.ln_f.weight"] = np.zeros(given.network.width, np.float32)
    tensors["transformer.ln_f.weight"][0] = gain
    tensors["transformer.ln_f.bias"][: code - 2] = 0
    tensors["transformer.ln_f.bias"][2:4] = gain * LARGEST / 8 * np.array([1, -1])
    return given._replace(network=replace(given.network, tensors=tensors)), c[given.answers] / most


def lane(before: np.ndarray, place: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """What lane 0 lacks so that the last norm makes LARGEST times the place of it [N], and what
    a change of the place by 1 takes."""
    D = before.shape[1]
    others, part, h = before[:, 1:], 1 - 1 / D, LARGEST * place
    middle = others.mean(axis=1)
    rest = ((others - middle[:, None]) ** 2).sum(axis=1) / D + epsilon
    stretch = np.sqrt(rest / (part**2 - h**2 * part / D))
    return middle + h * stretch - before[:, 0], LARGEST * stretch


def filled(given: Task, memory: tuple[np.ndarray, ...]) -> Checkpoint:
    """The checkpoint with a memory that writes to lane 0."""
    keys, biases, outputs = memory
    written = np.zeros((len(outputs), given.network.width))
    written[:, 0] = outputs
    parts = {"c_fc.weight": keys, "c_fc.bias": biases, "c_proj.weight": written}
    made = {f"transformer.h.0.mlp.{x}": y.astype(np.float32) for x, y in parts.items()}
    config = {**given.network.config, given.network.family.hidden: len(outputs)}
    return replace(given.network, config=config, tensors=given.network.tensors | made)


def bounded(network: Checkpoint, known: list[np.ndarray], answers: np.ndarray) -> np.ndarray:
    """Lower bounds of the margins in every execution in float32, [N].

    As in byheart/stock/enclose.py; but what is uncertain about a lane of the last norm is the same
    for two tokens, so only the difference of their codes counts, which is small for neighbours.
    """
    at, _ = enclose.attended(network, network.block(0), known)
    at, _, _ = enclose.through(network, network.block(0), at)
    normed = enclose._normed(network, at, *network.final)
    lanes = np.flatnonzero((normed.gain != 0) | (normed.bias != 0))
    E, gain, bias = network.embedding[:, lanes], normed.gain[lanes], normed.bias[lanes]
    E = E.astype(np.float64)
    y, c, lane, most = (a[:, lanes] for a in (normed.y, normed.c, normed.lane, normed.most))
    rounding, found = sums(E.T, None), np.empty(len(answers))
    for i, answer in enumerate(answers):
        apart, factor = E[answer] - E, normed.factor[i]
        moved, each = apart @ y[i], rounding * (np.abs(E) @ most[i])
        loose = np.abs(apart @ c[i]) + normed.shift[i] * np.abs(apart @ gain)
        least = moved + apart @ bias - factor * np.abs(moved) - (1 + factor) * loose
        least -= np.abs(apart) @ lane[i] + each + each[answer] + 1e-6
        found[i] = np.delete(least, answer).min()
    return found


# --- rows


def row(form: str, neurons: int, memory: int, predictions: int, seconds: float, **more) -> dict:
    return {"form": form, "neurons": neurons, "memory": memory, "predictions": predictions,
            "seconds": seconds} | more  # fmt: skip


def compiled(form: str, dataset: byheart.Dataset) -> dict:
    options = {"superposed": 0} if form == "superposed" else {}
    with cpu_seconds():
        model = byheart.compile(dataset, "gpt2", on_conflict="majority", **options)
    size = sum(x.size for name, x in model.network.tensors.items() if ".mlp." in name)
    found, neurons = model.verification, model.network.size("hidden")
    return row(form, neurons, size, found.checked, model.record.seconds["build"],
               right=found.correct, evidence=found.evidence)  # fmt: skip


def trained(given: Task, count: int) -> dict:
    started = time.process_time()
    before, streams = first_streams(given.network, texts_of(given.known))
    random, size = np.random.default_rng(0), len(given.answers)
    data = streams, before[:, given.out], given.answers, given.codes
    found = superposed.fitted(*data, count, random, Watch())
    seconds, D = time.process_time() - started, given.network.width
    return row("trained", count, (2 * D + 1) * count + D, size, seconds,
               right=int((found.margin > 0).sum()), evidence="observed")  # fmt: skip


def by_newton(plain: Task) -> dict:
    """The smallest of the tried memories with which all predictions are proved."""
    given, place = lined(plain)
    network, size = given.network, len(place)
    before, streams = first_streams(network, texts_of(given.known))
    missing, unit = lane(before, place, network.epsilon)
    unit = float(unit.mean() / max(1.0, 1 / np.abs(np.diff(np.unique(place))).min(initial=1.0)))
    free = np.linalg.matrix_rank(streams) + 1
    for room in ROOMS:
        count, started = max(FEWEST, math.ceil(room * size / free)), time.process_time()
        if (memory := newton(streams, missing / unit, count)) is None:
            continue
        seconds = time.process_time() - started
        network = filled(given, (*memory[:2], memory[2] * unit))
        found = bounded(network, given.known, given.answers)
        if found.min() > 0:
            break
    else:
        return row("newton", count, 0, size, 0.0, right=0, evidence="not found")
    D = network.width
    return row("newton", count, (2 * D + 1) * count + D, size, seconds, right=size,
               evidence="proved", margin=float(found.min()))  # fmt: skip


def in_closed_form(given: Task) -> dict:
    """The smallest of the tried memories whose error is proved to be less than half a place."""
    _, streams = first_streams(given.network, texts_of(given.known))
    used, places = line(given.answers)
    wanted, size = places[np.searchsorted(used, given.answers)], len(given.answers)
    free, D = np.linalg.matrix_rank(streams), given.network.width
    for room in ROOMS:
        count, started = max(FEWEST, math.ceil(room * size / free)), time.process_time()
        memory = gated(streams, wanted, count)
        seconds = time.process_time() - started
        right = int((gated_error(streams, wanted, *memory) < 0.5).sum())
        if right == size:
            break
    return row("gated", count, 3 * D * count, size, seconds, right=right, evidence="memory alone")


def measured(source, count: int, tokenizer: str) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        dataset = facts(source, count, folder, tokenizer)
        given = task(dataset)
        rows = [in_closed_form(given), by_newton(given)]
        rows += [trained(given, rows[1]["neurons"])]
        rows += [compiled(form, dataset) for form in ("superposed", "located")]
    return [{"facts": count, "tokenizer": tokenizer, **row} for row in rows]


def measure(options: Options) -> list[dict]:
    source, rows = options.file("counterfact.jsonl"), []
    for tokenizer in ("bpe:300",) if options.tiny else TOKENIZERS:
        for count in options.sizes([1_000], [3]):
            rows += options.apart(measured, source, count, tokenizer, threads=1)
            print(json.dumps(rows[-5:]), flush=True)
    return rows


def markdown(rows: list[dict]) -> str:
    heads = ("facts, tokenizer", "memory", "neurons", "its parameters", "facts per 1,000 of these",
             "predictions per 1,000", "right", "evidence", "build, CPU s")  # fmt: skip
    order = list(FORMS)
    body = []
    for row in sorted(rows, key=lambda row: (row["tokenizer"], order.index(row["form"]))):
        shares = [f"{1000 * row[x] / row['memory']:.0f}" if row["memory"] else "-"
                  for x in ("facts", "predictions")]  # fmt: skip
        evidence = {"memory alone": "proved, of the memory alone"}.get(row["evidence"])
        if not row["memory"]:
            none = ("-", "-", "-", "-", "not proved", "-")
            body.append((f"{row['facts']:,}, {row['tokenizer']}", FORMS[row["form"]],
                         f"{row['neurons']} or fewer", *none))  # fmt: skip
            continue
        body.append(
            (f"{row['facts']:,}, {row['tokenizer']}", FORMS[row["form"]], row["neurons"],
             row["memory"], *shares, of(row["right"], row["predictions"]),
             evidence or row["evidence"], f"{row['seconds']:.1f}")
        )  # fmt: skip
    return table(heads, body)
