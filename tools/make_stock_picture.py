"""Draw docs/stock-lanes.svg: the stream of a stock GPT-2 at a prompt that it knows, lane by lane.

Every number in it is computed from a checkpoint that is compiled here, from made-up facts.
"""

import json
import random
import tempfile
from pathlib import Path

import numpy as np

import byheart
from byheart import pictures
from byheart.pictures import GREY, INK, ORANGE, PALE
from byheart.stock.forward import attention, embedded, gelu_new, norm

PICTURE = Path(__file__).parents[1] / "docs" / "stock-lanes.svg"
FACTS, ASKED = 400, 7
NAMES = ("token", "place", "flag", "hash", "out")
MEANING = (
    "the last token's code",
    "waves of\nits place",
    "",
    "copied by attention:\nlast tokens, mean",
    "the answer's code,\nwritten by one neuron",
)


def made() -> byheart.Dataset:
    """Facts about towns that do not exist."""
    draw = random.Random(0)

    def word() -> str:
        parts = (draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(3))
        return "".join(parts).capitalize()

    rows = [{"prompt": f"The capital of {word()} is", "answer": word()} for _ in range(FACTS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return byheart.load(path, input=["prompt"], label="answer", tokenizer="bpe:1500")


def answer() -> dict:
    """The streams of one prompt, and the arguments of all neurons there."""
    model = byheart.compile(made(), "gpt2")
    network, holder = model.network, model.claim.holders[ASKED]
    block = network.block(0)
    first = embedded(network, holder.tokens[None])
    second = first + attention(network, block, first)
    normed = norm(second, block.norm2, block.norm2_bias, network.epsilon, rms=False)
    arguments = normed @ block.up + block.up_bias
    third = second + gelu_new(arguments) @ block.down + block.down_bias
    gain, bias = network.final
    last = norm(third, gain, bias, network.epsilon, rms=False)
    key = block.up[:, holder.neurons[0][1]]
    code = network.embedding.shape[1] // 3
    flag = code + int(np.flatnonzero(network.places[0, code:])[0])
    edges = (0, code, flag, flag + 2, network.width - code, network.width)
    rows = {
        "embedding": first[0, -1],
        "+ attention": second[0, -1],
        "layer norm": normed[0, -1],
        "the neuron's key": key,
        "+ the neuron": third[0, -1],
        "last norm": last[0, -1],
    }
    return {"rows": rows, "edges": edges, "arguments": arguments[0, -1]}


def draw(found: dict):
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    figure = Figure(figsize=(10, 4.6), layout=layout)
    grid = figure.add_gridspec(1, 2, width_ratios=(4.6, 1))
    lanes, neurons = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
    rows, edges = found["rows"], found["edges"]
    table = np.stack([row / np.abs(row).max() for row in rows.values()])
    lanes.imshow(table, cmap="RdBu", vmin=-1, vmax=1, aspect="auto", interpolation="none")
    lanes.set_yticks(range(len(rows)), list(rows), color=INK, size=10)
    lanes.set_xticks([])
    for side in lanes.spines.values():
        side.set_visible(False)
    lanes.tick_params(length=0)
    for y in range(1, len(rows)):
        lanes.axhline(y - 0.5, color="white", linewidth=5)
    for x in edges[1:-1]:
        lanes.axvline(x - 0.5, color=INK, linewidth=1)
    for name, meaning, a, b in zip(NAMES, MEANING, edges[:-1], edges[1:], strict=True):
        middle = (a + b - 1) / 2 + (1.2 if name == "flag" else 0)
        lanes.text(middle, -0.62, name, ha="center", va="bottom", color=INK, weight="bold", size=10)
        lanes.text(middle, len(rows) - 0.35, meaning, ha="center", va="top", color=PALE, size=8.5)
    arguments = np.sort(found["arguments"])
    last = len(arguments) - 1
    neurons.plot(arguments[:-1], color=GREY, linewidth=3, solid_capstyle="round")
    neurons.plot([last], arguments[-1:], "o", color=ORANGE, markersize=5)
    neurons.axhline(0, color=INK, linewidth=0.8)
    neurons.set_yscale("symlog", linthresh=16)
    neurons.set_ylim(top=40)
    neurons.set_yticks([16, 0, -16, -100, -1000], ["16", "0", "-16", "-100", "-1000"])
    neurons.minorticks_off()
    neurons.set_xticks([])
    neurons.tick_params(colors=PALE, labelsize=8.5)
    neurons.set_xlabel(f"all {len(arguments)} neurons, sorted", color=PALE, size=8.5)
    neurons.set_title("arguments", color=INK, size=10, weight="bold")
    neurons.text(last * 0.05, 5, "the neuron of\nthis prompt", color=ORANGE, size=8.5)
    neurons.text(last * 0.05, -60, "all others are off", color=PALE, size=8.5)
    return figure


if __name__ == "__main__":
    pictures.write(draw, answer(), PICTURE)
