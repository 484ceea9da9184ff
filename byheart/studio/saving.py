"""One static page: questions to a model with their answers and the way of each, for a class.

The page is a file without a server. Its scripts are those of the studio; what they show is data
beside them, which they put into the page as text. Its policy lets only these scripts run.
"""

import base64
import hashlib
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import ByheartError
from ..machine.files import refuse_existing, replacing
from ..machine.watch import SILENT, Watch
from ..models.questions import typed
from ..models.source import load_for
from . import tasks
from .sources import opened_model

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("saved.js", "dom.js", "picture.js", "ask.js", "saved-page.js")
ITEMS = 12  # of the data, where no question is named
MODULES = re.compile(r"^import .*?;\n|^export ", re.MULTILINE | re.DOTALL)


def save_page(
    folder: str | Path,
    output: str | Path,
    data: str | Path | None = None,
    questions: Sequence[str] = (),
    *,
    force: bool = False,
    watch: Watch = SILENT,
) -> list[str]:
    """Write the page; returns the questions that it answers.

    Where none is named, they are the first items of the data that the model was made from.
    """
    output, folder = Path(output), Path(folder)
    if output.suffix != ".html":
        raise ByheartError("the page is one file, whose name ends in .html.")
    refuse_existing(output, force)
    model = opened_model(str(folder))
    beside = folder / "data.jsonl"
    source = Path(data) if data is not None else beside if beside.is_file() else None
    asked = list(dict.fromkeys(questions))
    if not asked and source is not None:
        watch.stage("loading")
        dataset = load_for(model, source)
        rows = (typed(model, dataset.sequence(i)) for i in range(min(len(dataset), 20 * ITEMS)))
        asked = list(dict.fromkeys(row for row in rows if row))[:ITEMS]
    if not asked:
        raise ByheartError("name the questions (--question), or the data that they are taken from.")
    found: list[dict[str, Any]] = []
    for text in asked:
        with tempfile.TemporaryDirectory() as place:
            work = tasks.Work(Path(place), watch)
            known = None if source is None else str(source)
            tasks.ask(work, str(folder), folder.name, text, known)
            answer = json.loads(Path(place, "answer.json").read_text("utf-8"))
            picture = Path(place, "network.svg")
            drawn = picture.read_text("utf-8") if picture.is_file() else None
            found.append({"text": text, "answer": answer, "drawing": drawn})
    about = tasks.model_summary(model, model.verification)
    with replacing(output) as file:
        file.write(page({"model": folder.name, **about, "asked": found}).encode())
    return asked


def page(found: dict[str, Any]) -> str:
    """The page that shows this; its data cannot end the block that it stands in."""
    sources = [(STATIC / name).read_text("utf-8") for name in SCRIPTS]
    script = '"use strict";\n' + "\n".join(MODULES.sub("", text) for text in sources)
    style = (STATIC / "studio.css").read_text("utf-8")
    policy = f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'"
    data = json.dumps(found, allow_nan=False)
    for letter in "<>&":
        data = data.replace(letter, f"\\u{ord(letter):04x}")
    template = (STATIC / "saved.html").read_text("utf-8")
    return template.format(policy=policy, style=style, data=data, script=script)


def digest(text: str) -> str:
    """What a policy calls a block by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
