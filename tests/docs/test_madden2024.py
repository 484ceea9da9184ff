"""The examples of docs/theorems-madden2024.md run, and say what the page says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "theorems-madden2024.md"


def test_the_examples_run():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    names: dict = {}
    for block in blocks:
        exec(block, names)  # later ones use what earlier ones import
    assert len(blocks) >= 7
    assert {f"theorem_{number}" for number in (2, 3, 4, 6)} <= set(names)
