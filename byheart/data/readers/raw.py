"""The bytes beneath every format: of a file as it is, of a compressed one, of standard input.

Compressed files and standard input are copied to a temporary file first, so that every reader has
a file in which it can seek and which it can map into memory. A compressed file is read to its last
byte: whatever follows a stream and is not another one is damage. What it unpacks to is bounded, by
its own size and by the free space of the temporary folder.
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
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakKeyDictionary

from ...errors import ByheartError
from ...machine.installing import remedy

STANDARD_INPUT = "-"
CHUNK = 1 << 20
ALWAYS = 1 << 30  # bytes that every compressed file may unpack to
RATIO = 2000  # beyond that, how many times its own size; that of a log may be 1,000


@dataclass(frozen=True)
class Raw:
    name: str  # for messages
    path: Path  # of the file; of a folder, which has no bytes of its own
    kind: str  # the key of its reader, such as ".csv"
    file: BinaryIO
    encoding: str | None = None  # of its text; None: UTF-8, or what a byte order mark says

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
            f"{what} needs the package {name}, which is not installed; run: {remedy(extra)}."
        ) from None


def arrow(path: str | Path) -> Any:
    return package("pyarrow", "parquet", path)


def reason(error: Exception) -> str:
    """The first line of an error, to stand in brackets."""
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


@contextmanager
def readable(
    name: str, otherwise: str = "", errors: tuple[type[Exception], ...] = (Exception,)
) -> Iterator[None]:
    """ByheartError for whatever a damaged file leads to in a library, or for what the system says.

    otherwise  what there is to say of damage, after the reason
    """
    try:
        yield
    except (ByheartError, MemoryError):
        raise
    except errors as error:
        if getattr(error, "errno", None):  # of the system, not of the content
            raise ByheartError(f"{name} cannot be read: {error.strerror}.") from error  # type: ignore[attr-defined]
        more = otherwise and f"; {otherwise}"
        raise ByheartError(f"{name} cannot be read ({reason(error)}){more}.") from None


def _pieces(stream: Any) -> Iterator[bytes]:
    with stream:
        yield from iter(partial(stream.read, CHUNK), b"")


def _streams(path: Path, decompressor: Callable[[], Any], padded: bool = False) -> Iterator[bytes]:
    """What all streams of a file hold; Python's own readers stop at the first that is damaged.

    padded  whether zeros, in multiples of four, may follow a stream
    """
    with open(path, "rb") as file:
        rest = file.read(CHUNK)
        while rest:
            current = decompressor()
            while not current.eof:
                rest = rest or (file.read(CHUNK) if current.needs_input else b"")
                if not rest and current.needs_input:
                    raise EOFError("the file ends inside a stream")
                yield current.decompress(rest, CHUNK)
                rest = b""
            rest, zeros = current.unused_data or file.read(CHUNK), 0
            while padded and rest.startswith(b"\0"):
                content = rest.lstrip(b"\0")
                zeros += len(rest) - len(content)
                rest = content or file.read(CHUNK)
            if zeros % 4:
                raise EOFError("zeros that are not padding follow a stream")


COMPRESSED: dict[str, Callable[[Path], Iterator[bytes]]] = {
    ".gz": lambda path: _pieces(gzip.open(path)),
    ".xz": lambda path: _streams(path, lzma.LZMADecompressor, padded=True),
    ".bz2": lambda path: _streams(path, bz2.BZ2Decompressor),
    ".zst": lambda path: _pieces(arrow(path).input_stream(str(path), compression="zstd")),
}


def ending(path: Path) -> str:
    """The extension that names the format, in lower case; that of a compression comes after it.

    >>> ending(Path("Capitals.CSV")), ending(Path("capitals.csv.gz"))
    ('.csv', '.csv')
    """
    last = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if last in COMPRESSED else last


@contextmanager
def opened(path: Path, kind: str, encoding: str | None = None) -> Iterator[Raw]:
    """The bytes of a file, of a compressed file, or of standard input (-)."""
    compression = path.suffix.lower()
    if str(path) == STANDARD_INPUT:
        yield Raw("standard input", path, kind, _standard_input(), encoding)
        return
    if compression not in COMPRESSED:
        with open(path, "rb") as file:
            yield Raw(str(path), path, kind, file, encoding)
        return
    with tempfile.TemporaryFile() as copy:
        try:
            _copy(COMPRESSED[compression](path), copy, str(path), path.stat().st_size)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            if getattr(error, "errno", None):  # of the system, not of the content
                raise
            raise ByheartError(
                f"{path} cannot be decompressed ({error}); it is damaged, truncated or not "
                f"a {compression} file."
            ) from None
        copy.seek(0)
        yield Raw(str(path), path, kind, copy, encoding)


_copies: WeakKeyDictionary[Any, BinaryIO | ByheartError] = WeakKeyDictionary()


def _standard_input() -> BinaryIO:
    """A copy of all of standard input, which is the same whenever it is asked for."""
    stream = sys.stdin.buffer
    if stream not in _copies:
        copy = tempfile.TemporaryFile()  # noqa: SIM115  it is kept
        try:
            _copy(iter(partial(stream.read, CHUNK), b""), copy, "standard input")
            _copies[stream] = copy
        except ByheartError as error:  # what is left of the stream is not all of it
            _copies[stream] = error
    found = _copies[stream]
    if isinstance(found, ByheartError):
        raise found
    found.seek(0)
    return found


def holds_text(path: Path, start: int | None = None) -> bool:
    """Whether a file, or what a compressed one holds, has no NUL byte; that of `start` bytes."""
    with opened(path, "") as raw:
        if start is not None:
            return b"\0" not in raw.file.read(start)
        return all(b"\0" not in x for x in iter(partial(raw.file.read, CHUNK), b""))


def refuse_bomb(name: str, size: int, packed: int) -> None:
    """ByheartError if what unpacks to this size is suspiciously small."""
    if size > (limit := max(ALWAYS, RATIO * packed)):
        raise ByheartError(
            f"{name} unpacks to more than {limit:,} bytes, over {limit // max(1, packed):,} times "
            "its size; unpack it yourself if that is meant."
        )


def _copy(pieces: Iterator[bytes], copy: BinaryIO, name: str, packed: int | None = None) -> None:
    """Write the pieces, as long as a tenth of the free space is left.

    packed  the size of the file, if it is compressed
    """
    folder = tempfile.gettempdir()
    room = shutil.disk_usage(folder).free * 9 // 10
    written = 0
    for piece in pieces:
        written += len(piece)
        if packed:
            refuse_bomb(name, written, packed)
        if written > room:
            raise ByheartError(
                f"{name} holds more than the {room:,} bytes that temporary files may take in "
                f"{folder}; let TMPDIR name a folder with more space."
            )
        copy.write(piece)
