"""Pages that are written by a program are what the program writes now."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from byheart.compiler.compiling import compile
from byheart.data import generate

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_page_of_methods_is_up_to_date():
    path = ROOT / "tools" / "make_methods.py"
    place = importlib.util.spec_from_file_location("make_methods", path)
    program = importlib.util.module_from_spec(place)
    place.loader.exec_module(program)
    assert program.PAGE.read_text() == program.page(), "run python tools/make_methods.py"


def test_the_lines_that_run_plain_tensors(tmp_path):
    page = (DOCS / "plain-tensors.md").read_text()
    lines = page.partition("```python\n")[2].partition("```")[0]
    names = {}
    exec(lines, names)
    for positions in (False, True):
        dataset = replace(generate.random(300, length=3, seed=5), label_names=("no", "yes"))
        model = compile(dataset, method="float64", positions=positions)
        folder = tmp_path / str(positions)
        model.save(folder)
        config, tensors = names["load"](folder)
        labels = json.loads((folder / "vocabulary.json").read_text())["labels"]
        for i in range(len(dataset)):
            vectors = np.array(dataset.sequence(i), dtype=float)
            found = labels[names["forward"](config, tensors, vectors)]
            assert found == dataset.label(i)
