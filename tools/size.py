"""How long the package is, room by room, against the limits in tools/size.json.

    python tools/size.py    exit 1 if a room or the package is longer than its limit

A limit is changed on purpose, in the commit that needs it. Lines are counted as `ruff format`
leaves them, which `make check` requires. The package is its Python; JavaScript, CSS and HTML of
the page are a row of their own beside it.
"""

import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = ROOT / "tools" / "size.json"
SUFFIXES = (".py", ".js", ".css", ".html")
PAGE = " (page)"


def lines_by_room(package: Path) -> dict[str, int]:
    """The lines of each folder of a package, and of the files beside them as "(root)"."""
    lines: Counter[str] = Counter()
    for path in package.rglob("*"):
        if path.suffix in SUFFIXES:
            *folders, _ = path.relative_to(package).parts
            page = path.suffix != ".py"
            room = "(root)" if not folders else folders[0] + PAGE * page
            lines[room] += len(path.read_text(encoding="utf-8").splitlines())
    return dict(sorted(lines.items()))


def python(lines: dict[str, int]) -> int:
    """The lines of all rooms, without those of the page."""
    return sum(count for room, count in lines.items() if not room.endswith(PAGE))


def problems(lines: dict[str, int], limits: dict[str, int], ceiling: int) -> list[str]:
    """A sentence for each room that is too long or has no limit, and for the package."""
    remedy = "make it shorter, or raise the limit in tools/size.json in the commit that needs it"
    sentences = []
    for room, count in lines.items():
        if room not in limits:
            sentences.append(f"{room} is a new room: give it a limit in tools/size.json.")
        elif count > limits[room]:
            sentences.append(f"{room} has {count:,} lines of {limits[room]:,}: {remedy}.")
    total = python(lines)
    if total > ceiling:
        sentences.append(f"the package has {total:,} lines of Python, of {ceiling:,}: {remedy}.")
    return sentences


if __name__ == "__main__":
    table = json.loads(LIMITS.read_text())
    lines = lines_by_room(ROOT / "byheart")
    for room, count in lines.items():
        print(f"{room:16}{count:8,}{table['rooms'].get(room, 0):8,}")
    print(f"{'package':16}{python(lines):8,}{table['package']:8,}")
    sentences = problems(lines, table["rooms"], table["package"])
    print("\n".join(sentences), file=sys.stderr, end="\n" if sentences else "")
    sys.exit(bool(sentences))
