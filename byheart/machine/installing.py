"""How to install what an extra brings, for the installation that is running."""

import json
import re
import shlex
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

NAME = re.compile(r"byheart\[([\w,-]+)\]")


def remedy(extra: str) -> str:
    """A command: of an editable installation with the extra, of others with its packages."""
    try:
        own = distribution("byheart")
    except PackageNotFoundError:
        return f"install the packages of the extra {extra} that pyproject.toml lists"
    folder = checkout(own)
    if folder is not None:
        return f"pip install -e {shlex.quote(f'{folder}[{extra}]')}"
    return f"pip install {' '.join(map(shlex.quote, packages(own, extra)))}"


def checkout(own: Distribution) -> Path | None:
    """The folder of an editable installation."""
    try:
        origin = json.loads(own.read_text("direct_url.json") or "{}")
    except ValueError:
        return None
    if not origin.get("dir_info", {}).get("editable"):
        return None
    folder = Path(unquote(urlsplit(origin.get("url", "")).path))
    return folder if (folder / "pyproject.toml").is_file() else None


def packages(own: Distribution, extra: str) -> list[str]:
    """What the extra requires, with the extras that it is made of."""
    found: dict[str, None] = {}
    for line in own.requires or ():
        requirement, _, marker = line.partition(";")
        if not re.search(rf"extra == ['\"]{re.escape(extra)}['\"]", marker):
            continue
        inner = NAME.match(requirement.strip())
        names = [x for y in inner[1].split(",") for x in packages(own, y)] if inner else []
        found |= dict.fromkeys(names if inner else [requirement.strip().replace(" ", "")])
    return list(found)
