"""Files to datasets: which reader a file needs, and which options apply to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ByheartError
from .dataset import Dataset
from .documents import Documents
from .readers import corpus, jsonl, npz, table

READERS: dict[str, Callable[..., Dataset | Documents]] = {
    ".jsonl": jsonl.read,
    ".txt": corpus.text_documents,
    ".csv": table.read,
    ".tsv": table.read,
    ".npz": npz.read,
    ".bin": corpus.id_documents,
}
CORPORA = {extension: READERS[extension] for extension in (".txt", ".bin")}  # of documents
TABLES = (".csv", ".tsv")


@dataclass(frozen=True)
class LoadingOption:
    """One option of `load`."""

    name: str  # its keyword
    type: Any  # of a value from a command line; None is left out where it is the default
    accepts: tuple[type, ...]  # the types of a value that was stored with a model
    files: tuple[str, ...]  # the extensions of the files that it applies to
    help: str  # one sentence about it
    default: Any = None  # stands for not giving it
    choices: tuple[str, ...] = ()  # words that it can be; beside integers, if it has a least one
    least: int | None = None  # the smallest integer that it can be
    metavar: str | None = None  # the name of a value in help
    selects: bool = False  # whether it decides which part of a file is read: the user's choice

    def checked(self, value: Any, least: int | None) -> Any:
        """The value, an integer if it is digits from a command line; ByheartError if it is wrong.

        least is that of this option, or another for a kind of file.
        """
        if value in (*self.choices, self.default) or not self.choices and least is None:
            return value
        if least is None:
            choices = ", ".join(self.choices)
            raise ByheartError(f"{self.name} must be one of {choices}, not {value!r}.")
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            other = "".join(f" or {word!r}" for word in self.choices)
            raise ByheartError(
                f"{self.name} must be an integer of {least} or more{other}, not {value!r}."
            )
        return value


LOADING: tuple[LoadingOption, ...] = (
    LoadingOption(
        "input", list[str], (list, tuple, str), TABLES,
        "Tables: a column of input words; may be repeated.", default=(), metavar="COLUMN",
        selects=True,
    ),
    LoadingOption(
        "label", str, (str,), TABLES, "Tables: the column of labels.", metavar="COLUMN",
        selects=True,
    ),
    LoadingOption(
        "unit", str, (str,), (".txt",), "Text: tokens are words or characters.",
        default="word", choices=("word", "char"),
    ),
    LoadingOption(
        "tokenizer", Path, (str,), (".txt",),
        "Text: a tokenizer.json that splits documents into tokens.", metavar="FILE", selects=True,
    ),
    LoadingOption(
        "documents", str, (str,), (".txt",), "Text: where documents end.",
        default="auto", choices=("auto", "separator", "blank", "line", "whole"),
    ),
    LoadingOption(
        "length", int, (int,), (*CORPORA, *TABLES), "Truncate documents to N tokens.",
        least=1, metavar="N", selects=True,  # 2 for documents
    ),
    LoadingOption(
        "window", str, (int,), tuple(CORPORA),
        "Contexts are the last N tokens; auto: the fewest without conflicts.",
        choices=("auto",), least=1, metavar="N",
    ),
    LoadingOption(
        "dtype", str, (str,), (".bin",), ".bin: the type of a token id.",
        default="uint16", choices=("uint16", "uint32"),
    ),
    LoadingOption(
        "separator", int, (int,), (".bin",), ".bin: the id that ends a document.",
        least=0, metavar="ID", selects=True,
    ),
)  # fmt: skip
OPTIONS: dict[str, tuple[str, ...]] = {
    extension: tuple(option.name for option in LOADING if extension in option.files)
    for extension in READERS
}

from_rows, write_jsonl = Dataset.from_rows, jsonl.write


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
    """The dataset of a file. `load(path, **dataset.loading)` gives it again.

    Args:
        path: A .jsonl, .txt, .csv, .tsv, .npz or .bin file.
        input: The columns of a table whose words are the input, in order.
        label: The column of a table that holds the labels.
        unit: Tokens of a text: "word" or "char".
        tokenizer: A tokenizer.json that splits a text into tokens, instead of `unit`.
        documents: Where a document of a text ends: at a line "<|endoftext|>" ("separator"), at a
            blank line ("blank"), with every line ("line"), with the file ("whole"), or whichever
            of the first three the text suggests ("auto").
        length: Truncate documents, or rows of a table, to this many tokens.
        window: Contexts are at most this many tokens; "auto": the fewest without conflicts.
        dtype: The type of a token id in a .bin file: "uint16" or "uint32".
        separator: The token id that ends a document of a .bin file.

    Returns:
        The sequences with their labels; of a text, every prefix with its next token.

    Raises:
        ByheartError: The file cannot be read, or an option does not apply to it.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "pets.txt"
        >>> _ = path.write_text("the cat sat\\nthe dog ran\\n")
        >>> for tokens, label in load(path):
        ...     print(tokens, label)
        ['the'] cat
        ['the', 'cat'] sat
        ['the'] dog
        ['the', 'dog'] ran
    """
    given = {**locals(), "input": (input,) if isinstance(input, str) else tuple(input)}
    data = _read(given.pop("path"), given, READERS)
    return corpus.predictions(data) if isinstance(data, Documents) else data


def is_corpus(path: str | Path) -> bool:
    """Whether the file holds documents, whose tokens are predicted, rather than labels."""
    return Path(path).suffix.lower() in CORPORA


def load_documents(path: str | Path, **options: object) -> Documents:
    """The documents of a corpus, as they are stored; the options are those of `load`."""
    defaults = {option.name: option.default for option in LOADING}
    if unknown := options.keys() - defaults:
        raise TypeError(f"load_documents has no option {unknown.pop()!r}")
    return _read(path, defaults | options, CORPORA)


def applicable(path: str | Path, options: Mapping[str, object]) -> dict[str, object]:
    """Those of the options that mean something for this kind of file."""
    names = OPTIONS.get(Path(path).suffix.lower(), ())
    return {name: value for name, value in options.items() if name in names}


def _read(path: str | Path, given: dict[str, Any], readers: Mapping[str, Callable]) -> Any:
    """The file as its reader gives it; ByheartError if the file or an option cannot be used."""
    path = Path(path)
    extension = path.suffix.lower()
    if extension not in readers:
        raise ByheartError(f"{path}: the name must end in one of {' '.join(readers)}.")
    try:
        if path.is_dir():
            raise ByheartError(f"{path} is a directory; give a file.")
        if not path.exists():
            raise ByheartError(f"{path} does not exist; check the path.")
        if path.stat().st_size == 0:
            raise ByheartError(f"{path} is empty; give at least one sequence.")
        names = OPTIONS[extension]
        for option in LOADING:
            if option.name not in names and given[option.name] != option.default:
                takes = ", ".join(f"{name}=..." for name in names) or "no options"
                raise ByheartError(
                    f"{path}: {option.name}=... does not apply here; such a file takes {takes}."
                )
        # A single token of a document predicts nothing.
        least = {"length": 2} if extension in CORPORA else {}
        options = {
            option.name: option.checked(given[option.name], least.get(option.name, option.least))
            for option in LOADING
        }
        if options["tokenizer"] is not None and options["unit"] != "word":
            raise ByheartError("tokenizer=... and unit=... exclude each other; give one of them.")
        return readers[extension](path, **{name: options[name] for name in names})
    except OSError as error:
        raise ByheartError(f"{path} cannot be read: {error.strerror or error}.") from error
