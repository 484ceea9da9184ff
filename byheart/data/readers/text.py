"""Plain text to documents, and documents to tokens."""

import re
from collections.abc import Callable
from pathlib import Path

from ...errors import ByheartError
from .raw import Raw

WORD = r"\w+|[^\w\s]+"
SEPARATOR = "<|endoftext|>"
Tokenize = Callable[[str], list[str]]


def read_text(raw: Raw) -> str:
    """The file as text; every line ends in \\n, on whichever system it was written."""
    data = raw.file.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ByheartError(f"{raw.name}, line {line}: not UTF-8; save the file as UTF-8.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ByheartError(f"{raw.name}, line {line}: holds a NUL byte; give a text file in UTF-8.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def document_rule(text: str) -> str:
    """The meaning of documents="auto" for this text."""
    lines = text.strip().split("\n")
    if any(line.strip() == SEPARATOR for line in lines):
        return "separator"
    return "line" if all(line.strip() for line in lines) else "blank"


def split(text: str, rule: str) -> list[str]:
    """The documents of the text, except those of white space alone."""
    if rule == "whole":
        parts = [text]
    elif rule == "line":
        parts = text.split("\n")
    else:  # between the lines that are the mark, with white space around it
        mark = SEPARATOR if rule == "separator" else ""
        lines: list[str] = []
        parts = []
        for line in (*text.split("\n"), mark):
            if line.strip() == mark:
                parts.append("\n".join(lines))
                lines = []
            else:
                lines.append(line)
    return [part.strip("\n") for part in parts if part.strip()]


def tokenize(unit: str, tokenizer: str | Path | None) -> Tokenize:
    """The function that splits a document into tokens."""
    if tokenizer is None:
        return list if unit == "char" else re.compile(WORD).findall
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ByheartError(
            f"{tokenizer} needs the package tokenizers, which is not installed; "
            "run: pip install tokenizers."
        ) from None
    if not Path(tokenizer).is_file():
        raise ByheartError(f"{tokenizer} is not a file; give the path of a tokenizer.json.")
    try:
        loaded = Tokenizer.from_file(str(tokenizer))
    except Exception as error:  # the package raises bare Exceptions
        raise ByheartError(f"{tokenizer} is not a tokenizer.json: {error}.") from None
    loaded.no_truncation()
    loaded.no_padding()
    return lambda document: loaded.encode(document, add_special_tokens=False).tokens
