"""The notebooks of examples/ run from the first cell to the last, and print what they show."""

import pytest

from tools import notebooks

NEEDS = {
    "audit": ("torch", "transformers", "tokenizers"),
    "ground_truth": ("torch", "transformers", "tokenizers", "transformer_lens"),
    "theorem": (),
}


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_a_notebook_prints_what_it_shows(name):
    for package in NEEDS[name]:
        pytest.importorskip(package)
    notebook = notebooks.read(notebooks.EXAMPLES / f"{name}.ipynb")
    shown = [notebooks.printed(x) for x in notebook["cells"] if x["cell_type"] == "code"]
    assert any(shown) and notebooks.run(notebook) == shown


def test_every_notebook_is_run():
    assert {path.stem for path in notebooks.EXAMPLES.glob("*.ipynb")} == set(NEEDS)
