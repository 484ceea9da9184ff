"""Files and Python objects to datasets: which reader they need, and which options apply.

A new format is a file in readers/ and a line of READERS. Every reader gets the bytes of its file as
they are after decompression, so that it need not know how they are stored.
"""

import io
import os
import tomllib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import ByheartError, OptionError
from ..machine.memory import bounded
from .dataset import Dataset
from .documents import Documents
from .readers import arrow, corpus, jsonl, npz, objects, rows, sqlite, table, xlsx
from .readers.raw import COMPRESSED, STANDARD_INPUT, Raw, ending, holds_text, opened
from .readers.text import UNITS

OBJECTS, TEXT_FOLDER, DATASETS = "objects", "a folder of text files", "a folder of datasets"
READERS: dict[str, Callable[..., Dataset | Documents]] = {
    ".jsonl": jsonl.read,
    ".json": jsonl.read_document,
    ".txt": corpus.text_documents,
    ".csv": table.read,
    ".tsv": table.read,
    ".parquet": arrow.read,
    ".arrow": arrow.read,
    ".xlsx": xlsx.read,
    ".sqlite": sqlite.read,
    ".sqlite3": sqlite.read,
    ".db": sqlite.read,
    ".npz": npz.read,
    ".bin": corpus.id_documents,
    TEXT_FOLDER: corpus.text_documents,
    DATASETS: arrow.read_folder,
    OBJECTS: objects.read,
}
FILES = tuple(kind for kind in READERS if kind.startswith("."))
TEXTS = (".txt", TEXT_FOLDER)
CORPORA = {kind: READERS[kind] for kind in (*TEXTS, ".bin")}  # of documents
TABLES = tuple(kind for kind in READERS if kind not in (*CORPORA, ".npz"))
SPLIT, LONG = (*TEXTS, *TABLES), (*CORPORA, *TABLES)  # what is split into tokens, and cut
NAMED = (*TABLES, ".npz")  # what has columns or arrays
SHEETS = (".xlsx", ".sqlite", ".sqlite3", ".db")
TEMPLATE = ("template", "answer")
OF_BYTES = ("format", "encoding")  # options of which readers know nothing
# How tables were read before there were options to say it.
BEFORE = {"unit": "wordpunct", "numeric": "words", "between": "", "empty": "keep"}

HELP = tomllib.loads(Path(__file__).with_name("options.toml").read_text("ascii"))


@dataclass(frozen=True)
class LoadingOption:
    name: str  # its keyword
    files: tuple[str, ...]  # the kinds of files that it applies to: keys of READERS
    type: Any = str  # of a value from a command line; None is left out where it is the default
    default: Any = None  # stands for not giving it
    choices: tuple[str, ...] = ()  # words that it can be; beside integers, if it has a least one
    stored: tuple[str, ...] = ()  # other words for the same that datasets and folders hold
    least: int | None = None  # the smallest integer that it can be
    metavar: str | None = None  # the name of a value in help
    selects: bool = False  # whether it decides which part of a file is read: the user's choice

    @property
    def several(self) -> bool:
        return self.type == list[str]

    @property
    def help(self) -> str:
        return HELP[self.name]

    @property
    def accepts(self) -> tuple[Any, ...]:
        """The types of a value that was stored with a model."""
        if self.least is not None:
            return (int,)
        return (list, tuple, str) if self.several else (str,)

    def checked(self, value: Any, least: int | None) -> Any:
        """The value, an integer if it is digits from a command line; ByheartError if it is wrong.

        least is that of this option, or another for a kind of file.
        """
        words = (*self.choices, *self.stored, self.default)
        if value in words or not self.choices and least is None:
            return value
        if least is None:
            raise OptionError(self.name, value, f"must be one of {', '.join(self.choices)}")
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            other = "".join(f" or {word!r}" for word in self.choices)
            raise OptionError(self.name, value, f"must be an integer of {least} or more{other}")
        return value


LOADING: tuple[LoadingOption, ...] = (
    LoadingOption("format", FILES, choices=tuple(kind[1:] for kind in FILES), selects=True),
    LoadingOption("input", NAMED, list[str], default=(), metavar="COLUMN", selects=True),
    LoadingOption("label", NAMED, metavar="COLUMN", selects=True),
    LoadingOption("template", TABLES, list[str], default=(), metavar="TEXT", selects=True),
    LoadingOption("answer", TABLES, metavar="TEXT", selects=True),
    LoadingOption("count", TABLES, metavar="COLUMN", selects=True),
    LoadingOption("records", (".json", DATASETS, OBJECTS), metavar="PATH", selects=True),
    LoadingOption("table", SHEETS, metavar="NAME", selects=True),
    LoadingOption("shape", TABLES, choices=(*rows.SHAPES, rows.TEXTS, rows.ROWS), selects=True),
    LoadingOption("delimiter", (".csv", ".tsv"), metavar="CHARACTER"),
    LoadingOption("header", (".csv", ".tsv"), default="first", choices=("first", "none")),
    LoadingOption("numeric", NAMED, default="vector", choices=("vector", "tokens", "words")),
    LoadingOption("between", TABLES, metavar="TOKEN"),
    LoadingOption("empty", TABLES, str, "refuse", ("refuse", "skip", "keep"), selects=True),
    LoadingOption("unit", SPLIT, str, "word", tuple(UNITS), stored=tuple(UNITS.values())),
    LoadingOption("tokenizer", SPLIT, Path, metavar="FILE", selects=True),
    LoadingOption("documents", TEXTS, str, "auto", ("auto", "separator", "blank", "line", "whole")),
    LoadingOption("length", LONG, int, least=1, metavar="N", selects=True),  # 2 for documents
    LoadingOption("window", LONG, choices=("auto",), least=1, metavar="N"),
    LoadingOption("dtype", (".bin",), default="uint16", choices=("uint16", "uint32")),
    LoadingOption("separator", (".bin",), int, least=0, metavar="ID", selects=True),
    LoadingOption("include", (TEXT_FOLDER,), list[str], default=(), metavar="GLOB", selects=True),
    LoadingOption("encoding", (*TEXTS, ".csv", ".tsv"), metavar="NAME", selects=True),
)
OPTIONS: dict[str, tuple[str, ...]] = {
    kind: tuple(option.name for option in LOADING if kind in option.files) for kind in READERS
}

from_rows, write_jsonl = Dataset.from_rows, jsonl.write


@bounded()
def load(
    data: Any,
    *,
    format: str | None = None,
    input: Sequence[str] | str = (),
    label: str | None = None,
    template: Sequence[str] | str = (),
    answer: str | None = None,
    count: str | None = None,
    records: str | None = None,
    table: str | None = None,
    shape: str | None = None,
    delimiter: str | None = None,
    header: str = "first",
    numeric: str = "vector",
    between: str | None = None,
    empty: str = "refuse",
    unit: str = "word",
    tokenizer: str | Path | None = None,
    documents: str = "auto",
    length: int | None = None,
    window: int | str | None = None,
    dtype: str = "uint16",
    separator: int | None = None,
    include: Sequence[str] | str = (),
    encoding: str | None = None,
) -> Dataset:
    """The dataset of a file or of Python objects. `load(data, **dataset.loading)` gives it again.

    Args:
        data: The path of a file (.jsonl .json .txt .csv .tsv .xlsx .sqlite .parquet .arrow .npz
            .bin, or text whatever its name ends in; each of them also compressed as .gz, .xz, .bz2
            or .zst), "-" for standard input, a folder of texts, or a folder that `save_to_disk` of
            Hugging Face datasets has written. Or an object: a data frame, a datasets.Dataset, a
            list of records (dictionaries), of texts, or of pairs (input, label).
        format: What the file holds if its name does not say so: "tsv", "jsonl", ...
        input: The columns of a table that are the input, in order. A cell of text is split into
            tokens, a list holds tokens. By default the columns "input", "label" and "count". Of
            an .npz file, the array of inputs, by default "inputs".
        label: The column of a table, or the array of an .npz file, that holds the labels.
        template: How a row is asked, instead of `input`: "The CEO of {company} is" names the column
            company. With several templates, every row is asked in each of them.
        answer: What follows the template, "{ceo}"; or `label` names a column.
        count: The column of a table that says how often each row was seen.
        records: Where the records are inside a .json file: keys with dots between them, and [] for
            each element of a list, as "data[].paragraphs[].qas[]". The split of a dataset that has
            several.
        table: The table of an SQLite database, or the sheet of a workbook, that has several.
        shape: What rows hold: a "chat" (`messages`, `conversations`), "tasks" (`instruction`,
            `output`), a question with "choices", "texts" (the only column), or plain "rows". By
            default what the columns suggest, if none is named.
        delimiter: What stands between the fields of a .csv file; detected by default.
        header: Where the names of the columns of a .csv or .tsv file are: the "first" line, or
            "none", if that is a row; then they are "1", "2", ...
        numeric: What input columns of numbers are: one "vector"; "tokens", a number each; "words".
        between: The token that keeps columns of text apart; by default as many | as no cell
            contains. "" joins them.
        empty: What happens to rows with an empty cell: "refuse" names all of them, "skip" leaves
            them out, "keep" reads empty text.
        unit: Tokens of a text: "word", with the white space before it, so that the tokens of a
            document are the document; "wordpunct", words and punctuation without white space;
            "char".
        tokenizer: What splits a text into tokens, instead of `unit`: a tokenizer.json, a folder
            that holds one, "bpe:8000" to train GPT-2's byte-level BPE on this very text
            ("bpe:8000:used": without the tokens that it does not use), "word" for a
            tokenizer.json with one token for every word of this text, or "phrases" for one with
            frequent sequences of words, too, which makes small networks that answer at the ends of
            phrases only ("phrases:2000": at most 2,000 of them).
        documents: Where a document of a text ends: at a line "<|endoftext|>" ("separator"), at a
            blank line ("blank"), with every line ("line"), with the file ("whole"), or whichever
            of the first three the text suggests ("auto"; in a folder, every file is one).
        length: Truncate documents, or rows of a table, to this many tokens.
        window: Contexts are at most this many tokens; "auto": the fewest without conflicts.
        dtype: The type of a token id in a .bin file: "uint16" or "uint32".
        separator: The token id that ends a document of a .bin file.
        include: Which files of a folder of texts are read, as "*.md"; by default all. The case of
            letters, and the ending of a compression, do not matter. Hidden files, links that leave
            the folder and files with NUL bytes are never read; what is not read is `unused`.
        encoding: Of a text or table that is not in UTF-8, as "cp1252".

    Returns:
        The sequences with their labels; of a text, every prefix with its next token.

    Raises:
        ByheartError: The data cannot be read, or an option does not apply to it.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "pets.txt"
        >>> _ = path.write_text("the cat sat\\nthe dog ran\\n")
        >>> for tokens, label in load(path):
        ...     print(tokens, repr(label))
        ['the'] ' cat'
        ['the', ' cat'] ' sat'
        ['the'] ' dog'
        ['the', ' dog'] ' ran'
        >>> load([("The capital of France is", "Paris")])[0]
        (['The', ' capital', ' of', ' France', ' is'], 'Paris')
        >>> load([{"sepal": 5.1, "petal": 1.4, "species": "setosa"}],
        ...      input=["sepal", "petal"], label="species")[0]
        ([[5.1, 1.4]], 'setosa')
    """
    options = locals()
    for option in LOADING:
        if option.several:
            given = options[option.name]
            options[option.name] = (given,) if isinstance(given, str) else tuple(map(str, given))
    contents = _read(options.pop("data"), options, READERS)
    return corpus.predictions(contents) if isinstance(contents, Documents) else contents


def dataset_of(data: Any, loading: Mapping[str, Any] | None = None) -> Dataset:
    """The data if it is a Dataset, else what `load` makes of it; ByheartError if it is empty."""
    if isinstance(data, Dataset) and loading:
        raise ByheartError(
            f"{', '.join(loading)} must go with the path of a file, not with a Dataset."
        )
    dataset = data if isinstance(data, Dataset) else load(data, **(loading or {}))
    if not len(dataset):
        raise ByheartError("the data has no sequences.")
    return dataset


def name_of(data: object) -> str:
    return Path(data).name if isinstance(data, str | Path) else "data"


def kind_of(data: object, format: str | None = None) -> str:
    """The key of the data's reader in READERS; "" or an unknown extension if there is none."""
    if not isinstance(data, str | Path):
        return OBJECTS
    if format is not None:
        return f".{format}"
    path = Path(data)
    if os.path.isdir(path):
        return DATASETS if arrow.is_folder(path) else TEXT_FOLDER
    kind = ending(path)
    return ".txt" if kind not in READERS and _is_text(path) else kind


def is_corpus(data: object, format: str | None = None) -> bool:
    """Whether this is documents, whose tokens are predicted, rather than labels."""
    return kind_of(data, format) in CORPORA


def unlike(data: object, loading: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """What a file looks like, where it was read otherwise: options with the values they had."""
    by_name, delimiter = kind_of(data), loading.get("delimiter")
    kind = kind_of(data, loading.get("format"))  # type: ignore[arg-type]
    if kind != by_name in READERS:
        yield "format", by_name[1:]
    if delimiter is not None and kind in (".csv", ".tsv"):
        with opened(Path(str(data)), kind, loading.get("encoding")) as raw:  # type: ignore[arg-type]
            found = table.detected(raw, loading)
        if found != delimiter:
            yield "delimiter", found


def extent(data: object, loading: Mapping[str, object]) -> dict[str, dict[str, int]]:
    """How many files and bytes were read with these options, and of how many there are.

    Empty if that is not known: of standard input, objects, and a folder that a library reads.
    """
    kind = kind_of(data, loading.get("format"))  # type: ignore[arg-type]
    if str(data) == STANDARD_INPUT or kind in (OBJECTS, DATASETS):
        return {}
    path, chosen, others = Path(str(data)), [""], list[str]()
    if kind == TEXT_FOLDER:
        which: Any = (loading.get("include") or (), loading.get("encoding"))
        chosen, others = corpus.folder_files(path, *which)
    size, more = (
        sum((os.stat if os.path.isfile(x) else os.lstat)(x).st_size for x in map(path.joinpath, y))
        for y in (chosen, others)
    )
    if kind == ".npz" and path.suffix.lower() not in COMPRESSED:
        more = npz.unread(path, loading)
        size -= more
    return {
        "files": {"read": len(chosen), "of": len(chosen) + len(others)},
        "bytes": {"read": size, "of": size + more},
    }


def read(data: Any, **options: Any) -> Dataset | Documents:
    """What can be counted without writing contexts out: documents of a corpus, else a dataset."""
    corpus = is_corpus(data, options.get("format"))
    return load_documents(data, **options) if corpus else load(data, **options)


@bounded()
def load_documents(path: str | Path, **options: object) -> Documents:
    """The documents of a corpus, as they are stored; the options are those of `load`."""
    defaults = {option.name: option.default for option in LOADING}
    if unknown := options.keys() - defaults:
        raise TypeError(f"load_documents has no option {unknown.pop()!r}")
    return _read(path, defaults | options, CORPORA)


def applicable(
    path: Any, options: Mapping[str, object], given: str | None = None
) -> dict[str, object]:
    """Those of some stored options that mean something for this file, or for these objects.

    A file of tokens, such as the data.jsonl of a model folder, needs none of the options that made
    tokens of another file. A name that says what is in the file is believed. Options that were
    stored before there were `numeric`, `between` and `empty` get those that say what was done then.
    Pairs have no columns to choose, and only a mapping has records inside.

    given  what the file holds, if the user says it
    """
    kind = kind_of(path, given)
    if holds_tokens(path, given):
        if "numeric" not in options or "input" in options:
            return {}
        options = {x: y for x, y in options.items() if x not in ("unit", "tokenizer")}
    if kind == OBJECTS:
        named = () if objects.has_names(path) else ("input", "label", "count", *TEMPLATE)
        if named and "input" in options and "numeric" not in options:
            options = {**BEFORE, **options}
        left = named if isinstance(path, Mapping) else (*named, "records")
        options = {x: y for x, y in options.items() if x not in left}
    if given is None and (kind not in READERS or kind == ".txt"):
        kind = kind_of(path, options.get("format"))  # type: ignore[arg-type]
    kept = {
        name: value
        for name, value in options.items()
        if name in OPTIONS.get(kind, ()) and (name != "format" or f".{value}" == kind)
    }
    if "input" in kept and "numeric" not in kept:
        kept |= BEFORE | ({"delimiter": ","} if kind == ".csv" else {})
    return kept


def holds_tokens(path: Any, format: str | None = None) -> bool:
    """Whether a file holds tokens and labels, as the checker reads them and byheart writes them.

    So does one that cannot be read: whoever reads it says why. Objects can hold them as well.
    """
    kind = kind_of(path, format)
    if kind == OBJECTS:
        return objects.holds_tokens(path)
    if kind != ".jsonl":
        return kind == ".npz"
    try:
        with opened(Path(path), kind) as raw:
            return jsonl.holds_tokens(raw)
    except (OSError, ByheartError):
        return True


def _read(data: Any, given: dict[str, Any], readers: Mapping[str, Callable]) -> Any:
    """What the reader makes of the data; ByheartError if it or an option cannot be used."""
    if isinstance(data, Dataset | Documents):
        raise ByheartError("this is loaded already; give a file, a data frame or rows.")
    name = str(data) if isinstance(data, str | Path) else objects.NAME
    form = next(option for option in LOADING if option.name == "format")
    kind = kind_of(data, form.checked(given["format"], None))
    if kind not in readers:
        endings = (
            f"{' '.join(x for x in FILES if x in readers)}, perhaps with {' '.join(COMPRESSED)}"
        )
        if name == STANDARD_INPUT:
            raise ByheartError(
                "standard input: `format=...` must say what it holds, as `format='csv'`."
            )
        says = f"the name must end in one of {endings}, or `format=...` must say what it holds"
        raise ByheartError(f"{name}: {says}.")
    for option in LOADING:
        if kind not in option.files and given[option.name] != option.default:
            takes = ", ".join(f"`{x}=...`" for x in OPTIONS[kind]) or "no options"
            raise ByheartError(
                f"{name}: `{option.name}=...` does not apply here; such data takes {takes}."
            )
    # A single token of a document predicts nothing.
    least = {"length": 2} if kind in CORPORA else {}
    options = {
        option.name: option.checked(given[option.name], least.get(option.name, option.least))
        for option in LOADING
    }
    if options["tokenizer"] is not None and options["unit"] != "word":
        raise ByheartError("`tokenizer=...` and `unit=...` exclude each other; give one of them.")
    read, own = readers[kind], {x: options[x] for x in OPTIONS[kind] if x not in OF_BYTES}
    encoding = options["encoding"]
    try:
        path = Path(name)
        if kind == OBJECTS:
            contents = read(data, **own)
        elif kind in (TEXT_FOLDER, DATASETS):
            contents = read(Raw(str(path), path, kind, io.BytesIO(), encoding), **own)
        else:
            if str(path) != STANDARD_INPUT and path.is_dir():
                raise ByheartError(f"{path} is a directory; give a file.")
            if str(path) != STANDARD_INPUT and not path.exists():
                raise ByheartError(f"{path} does not exist; check the path.")
            with opened(path, kind, encoding) as raw:
                if raw.size() == 0:
                    raise ByheartError(f"{raw.name} is empty; give at least one sequence.")
                contents = read(raw, **own)
    except OSError as error:
        raise ByheartError(f"{name} cannot be read: {error.strerror or error}.") from error
    also = {
        x: options[x] for x in ("format", "records", "table", "encoding") if options[x] is not None
    }
    return replace(contents, loading={**contents.loading, **also}) if also else contents


def _is_text(path: Path) -> bool:
    """Whether a file begins as text does: with a byte order mark, or 4,096 bytes without NUL."""
    try:
        if not path.is_file() or path.stat().st_size == 0:
            return False
        return holds_text(path, 4096) or path.open("rb").read(2) in (BOM_UTF16_BE, BOM_UTF16_LE)
    except (OSError, ByheartError):
        return False
