"""Files to datasets: which reader a file needs, and which options apply to it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ..errors import ByheartError
from .dataset import Dataset
from .documents import Documents
from .readers import corpus, jsonl, table
from .readers import npz as archive
from .readers.jsonl import write as write_jsonl
from .records import from_rows

__all__ = [
    "OPTIONS",
    "applicable",
    "from_rows",
    "is_corpus",
    "load",
    "load_documents",
    "write_jsonl",
]

Read = TypeVar("Read")

DEFAULTS: dict[str, object] = {
    "input": (),
    "label": None,
    "unit": "word",
    "tokenizer": None,
    "documents": "auto",
    "length": None,
    "window": None,
    "dtype": "uint16",
    "separator": None,
}
OPTIONS: dict[str, tuple[str, ...]] = {
    ".jsonl": (),
    ".txt": ("unit", "tokenizer", "documents", "length", "window"),
    ".csv": ("input", "label", "length"),
    ".tsv": ("input", "label", "length"),
    ".npz": (),
    ".bin": ("dtype", "separator", "length", "window"),
}
CORPORA: dict[str, Callable[..., Documents]] = {
    ".txt": corpus.text_documents,
    ".bin": corpus.id_documents,
}
CHOICES = {
    "unit": ("word", "char"),
    "documents": ("auto", "separator", "blank", "line", "whole"),
    "dtype": ("uint16", "uint32"),
}


def load(
    path: str | Path,
    *,
    input: Sequence[str] | str = (),
    label: str | None = None,
    unit: str = "word",
    tokenizer: str | Path | None = None,
    documents: str = "auto",
    length: int | None = None,
    window: int | str | None = None,
    dtype: str = "uint16",
    separator: int | None = None,
) -> Dataset:
    """The dataset of a file. `load(path, **dataset.loading)` gives it again."""
    path = Path(path)
    given = {
        "input": (input,) if isinstance(input, str) else tuple(input),
        "label": label,
        "unit": unit,
        "tokenizer": tokenizer,
        "documents": documents,
        "length": length,
        "window": window,
        "dtype": dtype,
        "separator": separator,
    }
    return _checked(path, given, _read)


def is_corpus(path: str | Path) -> bool:
    """Whether the file holds documents, whose tokens are predicted, rather than labels."""
    return Path(path).suffix.lower() in CORPORA


def load_documents(path: str | Path, **options: object) -> Documents:
    """The documents of a corpus, as they are stored; the options are those of `load`."""
    return _checked(Path(path), DEFAULTS | options, _read_documents)


def _checked(path: Path, given: dict, read: Callable[[Path, dict], Read]) -> Read:
    try:
        _check_file(path)
        _check_options(path, given)
        return read(path, given)
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror or error}.") from error


def applicable(path: str | Path, options: Mapping[str, object]) -> dict[str, object]:
    """Those of the options that mean something for this kind of file."""
    names = OPTIONS.get(Path(path).suffix.lower(), ())
    return {name: value for name, value in options.items() if name in names}


def _check_file(path: Path) -> None:
    if path.suffix.lower() not in OPTIONS:
        raise ByheartError(f"{path}: the name must end in one of {' '.join(OPTIONS)}.")
    if path.is_dir():
        raise ByheartError(f"{path} is a directory; give a file.")
    if not path.exists():
        raise ByheartError(f"{path} does not exist; check the path.")
    if path.stat().st_size == 0:
        raise ByheartError(f"{path} is empty; give at least one sequence.")


def _check_options(path: Path, given: dict) -> None:
    names = OPTIONS[path.suffix.lower()]
    for name, value in given.items():
        if name not in names and value != DEFAULTS[name]:
            takes = ", ".join(f"--{option}" for option in names) or "no options"
            raise ByheartError(f"{path}: --{name} does not apply here; such a file takes {takes}.")
    for name, choices in CHOICES.items():
        if given[name] not in choices:
            raise ByheartError(f"--{name} is one of {', '.join(choices)}, not {given[name]!r}.")
    if given["tokenizer"] is not None and given["unit"] != DEFAULTS["unit"]:
        raise ByheartError("--tokenizer and --unit exclude each other; give one of them.")
    table = path.suffix.lower() in (".csv", ".tsv")
    given["length"] = _at_least("length", given["length"], 1 if table else 2)
    if given["window"] != "auto":
        given["window"] = _at_least("window", given["window"], 1)
    given["separator"] = _at_least("separator", given["separator"], 0)


def _at_least(name: str, value: object, least: int) -> int | None:
    """The option as an integer; text with digits is what a command line gives."""
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        auto = " or auto" if name == "window" else ""
        raise ByheartError(f"--{name} is an integer of {least} or more{auto}, not {value!r}.")
    return value


def _read(path: Path, given: dict) -> Dataset:
    options = {name: given[name] for name in OPTIONS[path.suffix.lower()]}
    match path.suffix.lower():
        case ".jsonl":
            return jsonl.read(path)
        case ".npz":
            return archive.read(path)
        case ".txt":
            return corpus.read_text(path, **options)
        case ".bin":
            return corpus.read_ids(path, **options)
        case _:
            return table.read(path, **options)


def _read_documents(path: Path, given: dict) -> Documents:
    extension = path.suffix.lower()
    return CORPORA[extension](path, **{name: given[name] for name in OPTIONS[extension]})
