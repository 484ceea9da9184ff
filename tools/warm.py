"""Compile the kernels that most tests need, once, before each process of `make test` would.

    python tools/warm.py

Numba keeps what it compiles beside the sources. Small data is compiled and proved here with the
methods whose kernels take long to compile; the rest is compiled by the test that needs it.
"""

import io
import random
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import byheart
from byheart.cli import main

LABELS = ["hash-fold-retrieve", "deep-sets", "limited-bits", "float64", "attention-neurons"]
DISTRIBUTIONS = ["one-layer", "attention-only"]
LEARNERS = [  # options of byheart measure
    "madden2024 --axis neurons=4 --set dimension=4",
    "dana2024 --axis dimension=4 --set heads=2 --set head_dimension=2",
    "dana2024-program --axis dimension=4 --set heads=2 --set head_dimension=2",
    "kajitsuka2025 --axis layers=2 --set dimension=2",
]


def prove() -> None:
    """Compile, prove and ask: a few contexts and many, since many have kernels of their own."""
    draw = random.Random(0)
    bags = [draw.choices(range(20), k=4) for _ in range(150)]
    rows = [(sorted(bag), sum(bag) % 3) for bag in bags]
    for method in LABELS:
        for data in (rows[:9], rows):
            byheart.compile(byheart.Dataset.from_rows(data), method)
    model = byheart.compile(byheart.Dataset.from_rows(rows), "deep-sets")
    byheart.verify(model, byheart.Dataset.from_rows(rows), engine="limbs")
    for method in DISTRIBUTIONS:
        data = [(["a"], "x"), (["a"], "y"), (["b", "a"], "x"), (["b"], "x")]
        byheart.compile(byheart.Dataset.from_rows(data), method)


def learn() -> None:
    """A few steps of training, which needs PyTorch."""
    nowhere = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as place,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        data = Path(place, "data.jsonl")
        data.write_text(
            "".join(f'{{"input": ["{i}", "{i % 3}"], "label": "{i % 5}"}}\n' for i in range(9))
        )
        for number, learner in enumerate(LEARNERS):
            options = f"--architecture {learner} -o {place}/{number} --criterion accuracy=1 --json"
            main(f"measure {data} {options} --seeds 1 --steps 5 --jobs 1".split())


if __name__ == "__main__":
    prove()
    if find_spec("torch"):
        learn()
