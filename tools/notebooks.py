"""Run the notebooks of examples/ without a notebook server, and store what their cells print.

python tools/notebooks.py
"""

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


def source(cell: dict) -> str:
    return "".join(cell["source"])


def printed(cell: dict) -> str:
    """What a cell of a notebook shows below it."""
    return "".join("".join(x.get("text", ())) for x in cell["outputs"])


def run(notebook: dict) -> list[str]:
    """What every code cell prints, with the value of its last line; in a folder of their own."""
    names: dict = {"__name__": "__main__"}
    found = []
    with tempfile.TemporaryDirectory() as home, contextlib.chdir(home):
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            tree = ast.parse(source(cell))
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile(tree, "cell", "exec"), names)
                if last is not None:
                    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
                    if value is not None:
                        print(repr(value))
            found.append(said.getvalue())
    return found


def stored(notebook: dict, outputs: list[str]) -> dict:
    """The notebook with these outputs."""
    given, cells = iter(outputs), []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text = next(given)
            stream = {"name": "stdout", "output_type": "stream", "text": text.splitlines(True)}
            cell = {**cell, "outputs": [stream] if text else []}
        cells.append(cell)
    return {**notebook, "cells": cells}


def main() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        notebook = read(path)
        made = stored(notebook, run(notebook))
        path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")
        print(path)


if __name__ == "__main__":
    main()
