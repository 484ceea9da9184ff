"""recite: everything that a model knows, from its weights, compared with a file if one is given."""

import json
import lzma
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..claims.result import picked
from ..data.dataset import Dataset
from ..data.readers.corpus import folder_files
from ..data.readers.raw import ending, opened
from ..errors import ByheartError, Message
from ..machine.files import PART, refuse_existing, replacing
from ..machine.tables import plural
from ..machine.watch import SILENT, Watch
from ..machine.words import brief
from ..models.kinds import kind_of
from ..models.model import Model
from ..models.reciting import Recitation, Recited, row
from ..models.source import of_texts, unaccepted, unspelled
from .reading import data_for_model, model_of

CONTEXT = 30  # letters shown on both sides of a difference


@dataclass(frozen=True)
class Recital:
    """A recitation, and what it was found to be."""

    recitation: Recitation  # its files, with sizes and hashes, and what they are
    # bytes of the code word, and of vocabulary and what else restores the file, by xz
    sizes: Mapping[str, int]
    checked: bool  # whether it was compared with a file
    difference: str | None  # from that file: the first one, in words; None: none
    output: str | None  # where it was written
    # what of that file the model does not read, or reads in a way of its own
    unread: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether it is the file that it was compared with, or that its folder was made from."""
        if self.recitation.stopped or self.difference is not None:
            return False
        return self.checked or all(file.same is not False for file in self.recitation.files)

    def json(self) -> dict:
        said = picked(self.recitation, "files documents tokens stopped rows")
        return said | picked(self, "sizes checked difference output unread holds")


def recite(
    model: Model | str | Path,
    output: str | Path | None = None,
    *,
    check: Any = None,
    force: bool = False,
    watch: Watch = SILENT,
) -> Recital:
    """Recite every document of a model to its end, byte for byte as its file has it.

    Of other data than texts it recites rows: the inputs are those of `check`, or of the data.jsonl
    of the folder, and the labels are the model's.

    Args:
        model: A model, or the path of its folder.
        output: The file to write; of a model of a folder of texts, the folder.
        check: The file, or the folder, to compare with.
        force: Replace an older file.
        watch: Where progress is reported.

    Returns:
        What was recited: `.recitation.text`, `.holds`, and the first `.difference`.

    Example:
        >>> import byheart, pathlib
        >>> _ = pathlib.Path("poem.txt").write_text("the cat sat\\nthe dog ran\\n")
        >>> data = byheart.load("poem.txt", documents="whole", window="auto")
        >>> byheart.recite(byheart.compile(data), check="poem.txt").holds
        True
    """
    watch.stage("opening")
    folder = Path(model) if isinstance(model, str | Path) else None
    model = model_of(model, "recite")
    layout, given = model.record.layout, check
    if given is None and folder is not None and (folder / "data.jsonl").is_file():
        given = folder / "data.jsonl"
    rows, questions = not (layout is not None and layout.files), None
    if rows and (check if of_texts(model) else given) is not None:
        watch.stage("loading")
        questions = data_for_model(model, given)
    if output is not None:
        refuse_existing(Path(output), force)
    watch.stage("reciting", sum(layout.lengths) if layout else len(questions or ()))
    recitation = model.recite(questions, watch.advance)
    difference = None
    unread: tuple[str, ...] = ()
    if check is not None and rows and questions is not None:
        difference = _other_rows(model, recitation, questions)
        if not isinstance(check, Dataset):
            unread = (*unaccepted(check, questions, {}), *unspelled(check, questions))
            if difference is None and questions.left_out.keys() - {"header"}:
                difference = unread[0]
    elif check is not None:
        difference = _other_files(recitation.files, Path(check))
        if Path(check).is_dir() and (others := folder_files(Path(check))[1]):
            unread = (f"not recited: {plural(len(others), 'file')} of it, such as {others[0]}",)
    if output is not None:
        watch.stage("writing")
        _write(recitation.files, Path(output))
    words = json.dumps(sorted({*map(str, (*(model.tokens or ()), *model.labels))}))
    needed = "" if layout is None else layout.without_hashes().text
    packed = {"vocabulary": words.encode(), "layout": needed.encode()}
    sizes = {"network": -(-kind_of(model).store.code_bits(model.network) // 8)}
    sizes |= {name: min(len(x), len(lzma.compress(x))) for name, x in packed.items()}
    return Recital(
        recitation,
        sizes,
        check is not None,
        None if difference is None else Message(difference),
        None if output is None else str(output),
        unread,
    )


def _other_rows(model: Model, recitation: Recitation, data: Dataset) -> str | None:
    """The first row, or document of token ids, of the data that is not recited."""
    said = [json.loads(line) for line in recitation.files[0].content.splitlines()]
    wanted: list[object] = [{"input": x, "label": y} for x, y in data]
    if data.layout is not None:
        labels = map(data.label, range(len(data)))
        pairs = zip(data.layout.firsts, data.layout.lengths, strict=True)
        wanted = [row(model, [first, *islice(labels, size - 1)]) for first, size in pairs]
    if len(said) != len(wanted):
        return f"{len(said):,} rows are recited, and the data has {len(wanted):,}"
    for i, (one, other) in enumerate(zip(said, wanted, strict=True), 1):
        if one != other:
            pair = (x.get("label") if isinstance(x, dict) else x for x in (one, other))
            own, held = (brief(json.dumps(x), 2 * CONTEXT) for x in pair)
            return f"row {i:,}: {own} is recited, and the data has {held}"
    return None


def _other_files(files: tuple[Recited, ...], path: Path) -> str | None:
    """The first difference from a file, or from the files of a folder."""
    if not path.exists():
        raise ByheartError(f"{path} does not exist; check the path.")
    inside = files[0].name is not None if files else False
    if path.is_dir() != inside:
        is_a, has = ("a folder", "one file") if path.is_dir() else ("a file", "a folder of files")
        raise ByheartError(f"{path} is {is_a}, and the model was made from {has}.")
    try:
        for file in files:
            own = path / file.name if file.name is not None else path
            if not own.is_file():
                return f"{own} is recited, and not there"
            with opened(own, ending(own)) as raw:
                difference = _other_bytes(file.content, raw.file.read())
            if difference is not None:
                return f"{own}, {difference}"
        others = {*folder_files(path)[0]} - {file.name for file in files} if inside else ()
        if others:
            return f"{path / min(others)} is there, and not recited"
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror or error}.") from error
    return None


def _other_bytes(said: bytes, wanted: bytes) -> str | None:
    """The first byte that differs: its line and place, and what stands there on both sides."""
    if said == wanted:
        return None
    place = len(os.path.commonprefix([said, wanted]))
    line = wanted.count(b"\n", 0, place) + 1
    begin = max(0, place - CONTEXT // 2)
    both = (x[begin : place + CONTEXT] for x in (said, wanted))
    one, other = (ascii(x.decode("utf-8", "replace")) for x in both)
    return f"line {line:,}, byte {place + 1:,}: {one} is recited, and the file has {other}"


def _write(files: tuple[Recited, ...], path: Path) -> None:
    if not files or files[0].name is None:
        with replacing(path) as file:
            file.write(b"".join(x.content for x in files))
        return
    if path.exists():
        raise ByheartError(f"{path} exists; name a folder that does not.")
    part = Path(tempfile.mkdtemp(prefix=PART, dir=path.parent))
    try:
        for each in files:
            place = part / str(each.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(each.content)
        os.rename(part, path)
    except OSError as error:
        raise ByheartError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
