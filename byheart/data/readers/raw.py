"""The bytes beneath every format: of a file as it is, of a compressed one, of standard input.

Compressed files and standard input are copied to a temporary file first, so that every reader has
a file in which it can seek and which it can map into memory.
"""

import bz2
import gzip
import lzma
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from ...errors import ByheartError

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Raw:
    """What a reader reads."""

    name: str  # for messages
    path: Path  # of the file; of a folder, which has no bytes of its own
    kind: str  # the key of its reader, such as ".csv"
    file: BinaryIO

    def size(self) -> int:
        """The number of bytes, after decompression."""
        place = self.file.tell()
        size = self.file.seek(0, 2)
        self.file.seek(place)
        return size


def package(name: str, extra: str, what: str | Path) -> Any:
    """The package that `what` needs; ByheartError says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise ByheartError(
            f"{what} needs the package {name}, which is not installed; "
            f"run: pip install 'byheart[{extra}]'."
        ) from None


def arrow(path: str | Path) -> Any:
    return package("pyarrow", "parquet", path)


def reason(error: Exception) -> str:
    """The first line of an error, to stand in brackets."""
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


COMPRESSED: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".zst": lambda path: arrow(path).input_stream(str(path), compression="zstd"),
}


def ending(path: Path) -> str:
    """The extension that names the format, in lower case; that of a compression comes after it.

    >>> ending(Path("Capitals.CSV")), ending(Path("capitals.csv.gz"))
    ('.csv', '.csv')
    """
    last = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if last in COMPRESSED else last


@contextmanager
def opened(path: Path, kind: str) -> Iterator[Raw]:
    """The bytes of a file, of a compressed file, or of standard input (-)."""
    compression, standard = path.suffix.lower(), str(path) == STANDARD_INPUT
    if not standard and compression not in COMPRESSED:
        with open(path, "rb") as file:
            yield Raw(str(path), path, kind, file)
        return
    with tempfile.TemporaryFile() as copy:
        if standard:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        else:
            try:
                with COMPRESSED[compression](path) as stream:
                    shutil.copyfileobj(stream, copy)
            except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
                if getattr(error, "errno", None):  # of the system, not of the content
                    raise
                raise ByheartError(
                    f"{path} cannot be decompressed ({error}); it is damaged, truncated or not "
                    f"a {compression} file."
                ) from None
        copy.seek(0)
        yield Raw("standard input" if standard else str(path), path, kind, copy)
