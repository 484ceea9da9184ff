"""Draw docs/demo.svg from a real run of the demo, long passages of the recitation left out."""

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from byheart.cli.demo import show

PICTURE = Path(__file__).parents[1] / "docs" / "demo.svg"
FIRST, LAST = 12, 5  # lines of the recitation that are kept


def main() -> None:
    screen = Console(record=True, width=84, file=io.StringIO(), force_terminal=True)
    show(screen)
    lines = screen.export_text(styles=True).splitlines()
    begin = next(i for i, line in enumerate(lines) if "beginning with its first word" in line) + 2
    end = next(i for i, line in enumerate(lines) if "recited" in line) - 1
    kept = [*lines[: begin + FIRST], "", "  [...]", "", *lines[end - LAST :]]
    picture = Console(record=True, width=84, file=io.StringIO(), force_terminal=True)
    picture.print(Text("$ byheart demo", "bold"))
    for line in kept:
        picture.print(Text.from_ansi(line))
    picture.save_svg(str(PICTURE), title="byheart demo", code_format=_frame())


def _frame() -> str:
    """rich's window without its web fonts: the picture loads nothing from anywhere."""
    plain = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    plain = re.sub(r"<!--.*?-->", "", plain, flags=re.DOTALL)
    return plain.replace("Fira Code, monospace", "monospace")


if __name__ == "__main__":
    main()
