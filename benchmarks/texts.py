"""Whole texts by heart: the network that recites a file, beside what compressors make of the file.

Every file of the folder texts/ of the data, and the book that ships with byheart, is compiled as
one document whose contexts are the fewest last tokens without conflicts (`--documents whole
--window auto`), and every prediction is proved. Then the file is restored from
nothing but these pieces:

network     its code word (bits.encoded), which is decoded again
vocabulary  the words, front coded, phrases as pairs of shorter ones, and the length of each one's
            code word, from which the order of the labels follows (byheart/exact/vocabulary.py)
rest        the first token, the number of tokens, words that only end the text, and what the reader
            of texts leaves out: a byte order mark, carriage returns, white space at both ends

The model is saved, opened, given the decoded network, and continues from the first token alone, as
`byheart recall DIR TOKEN --steps K` does. A row says "byte for byte" only if that is the file. Of
texts in characters, every single step is proved instead, which gives the same text by induction.
"""

import bz2
import gzip
import hashlib
import json
import lzma
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
import regex as re

import byheart
from byheart.claims.claim import Words
from byheart.data.readers.tokenizers import WORD
from byheart.exact.codeword import decode, encode
from byheart.exact.vocabulary import decode as words_of
from byheart.exact.vocabulary import encode as vocabulary_of
from byheart.gadgets.blocks import digit_order
from byheart.machine.streams import Source
from byheart.models.recall import continued

from .report import ROOT, Options, machine, table

BOOK = ROOT / "byheart/data/book.txt"
LARGEST_CHAR = 200_000  # bytes of a text that is also compiled in characters
PHRASES = "phrases"  # benchmarks/phrases.py
TINY = "the cat sat on the mat and the dog sat on the cat"
SOURCES = {  # what they are, and where readers find them
    "book.txt": ("the book of the demo", "ships with byheart"),
    "alice29.txt": ("Alice's Adventures in Wonderland", "Canterbury corpus"),
    "asyoulik.txt": ("As You Like It", "Canterbury corpus"),
    "plrabn12.txt": ("Paradise Lost", "Canterbury corpus"),
    "pride-and-prejudice.txt": (
        "Pride and Prejudice",
        "Project Gutenberg; crista/exercises-in-programming-style",
    ),
    "tinyshakespeare.txt": (
        "tiny Shakespeare",
        "data/tinyshakespeare/input.txt of karpathy/char-rnn",
    ),
    "moby.txt": ("Moby Dick", "Project Gutenberg, number 2701"),
    "tinystories.txt": ("the first stories of TinyStories", "roneneldan/TinyStories"),
    "HDFS_2k.log": ("a log of 2,000 lines", "HDFS/HDFS_2k.log of logpai/loghub"),
    "_pydecimal.py": ("source code", "Lib/_pydecimal.py of CPython 3.11"),
}
COMPRESSORS = {  # those that find repetitions first, then those that model the next byte
    "gzip": "gzip -9",
    "zstd": "zstd -22",
    "brotli": "brotli -q 11",
    "xz": "xz -9e",
    "bzip2": "bzip2 -9",
    "ppmd": "PPMd, order 6",
}


def compressed(data: bytes) -> dict:
    """The sizes that compressors reach at their highest levels; None where a tool is missing."""
    tool = shutil.which("zstd")
    zstd = None
    if tool:
        command = [tool, "--ultra", "-22", "-c", "-q"]
        zstd = len(subprocess.run(command, input=data, check=True, capture_output=True).stdout)
    sizes = {
        "gzip": len(gzip.compress(data, 9, mtime=0)),
        "bzip2": len(bz2.compress(data, 9)),
        "xz": len(xz(data)),
        "zstd": zstd,
        "brotli": None,
        "ppmd": None,
    }
    if find_spec("brotli"):
        import brotli

        sizes["brotli"] = len(brotli.compress(data, quality=11, lgwin=24))
    if find_spec("pyppmd"):
        import pyppmd

        sizes["ppmd"] = len(pyppmd.compress(data, max_order=6, mem_size=1 << 26, variant="I"))
    return sizes


def xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)


def margins(data: bytes, text: str) -> dict:
    """What `restored` needs beside the text as byheart reads it."""
    plain = data.removeprefix(b"\xef\xbb\xbf").decode()
    crlf = "\r\n" in plain
    lines = plain.replace("\r\n", "\n") if crlf else plain
    before, found, after = lines.partition(text)
    return {"mark": plain.encode() != data, "crlf": crlf, "before": before, "after": after}


def restored(text: str, rest: dict) -> bytes:
    """The file."""
    whole = rest["before"] + text + rest["after"]
    whole = whole.replace("\n", "\r\n") if rest["crlf"] else whole
    return (b"\xef\xbb\xbf" if rest["mark"] else b"") + whole.encode()


def measured(path: Path, unit: str) -> dict:
    """All numbers of one text."""
    data = path.read_bytes()
    started = time.process_time()
    split = {"tokenizer": unit} if unit == PHRASES else {"unit": unit}
    dataset = byheart.load(path, format="txt", documents="whole", window="auto", **split)
    model = byheart.compile(dataset)
    built = time.process_time() - started
    tokens = [dataset[0][0][0], *(dataset.label(i) for i in range(len(dataset)))]
    rest = margins(data, "".join(tokens))
    code = encode(model.network)
    vocabulary = packed(model.labels)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model", packed=True)
        size = (Path(folder) / "model").stat().st_size
    started = time.process_time()
    unread = [label for label in model.labels if label not in model.places]
    recited = None
    if unit != "char":
        recited = recitation(model, code, vocabulary, unread, tokens)
    row = {
        "text": path.name,
        "unit": unit,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "tokens": len(tokens),
        "vocabulary": len(model.labels),
        "window": dataset.length,
        "parameters": model.parameters.nonzero,
        "bits_total": model.bits.total,
        "network": len(code),
        "words": len(vocabulary),
        "file": size,
        "rest": len(json.dumps([*rest.values(), unread, tokens[0], len(tokens)]).encode()),
        "entropy": round(model.bits.entropy / 8),
        **compressed(data),
        "evidence": model.verification.evidence,
        "checked": model.verification.checked,
        "build_seconds": round(built, 1),
        "recite_seconds": round(time.process_time() - started, 1),
    }
    row["total"] = row["network"] + row["words"] + row["rest"]
    proved = row["evidence"] == "proved" and row["checked"] == len(tokens) - 1
    text = "".join(tokens if recited is None else recited)
    row["recited"] = recited is not None
    row["exact"] = proved and restored(text, rest) == data
    return row


def packed(labels: Sequence[str]) -> bytes:
    """The labels, ranked by the lengths of their code words."""
    cut = partial(re.findall, re.compile(WORD))
    return vocabulary_of([], labels, digit_order(len(labels)), cut)


def unpacked_labels(vocabulary: bytes) -> tuple[str, ...]:
    """All labels in the order of the network's outputs."""
    _, ranked = words_of(Source(vocabulary, "vocabulary"))
    return tuple(str(ranked[rank]) for rank in np.argsort(digit_order(len(ranked))))


def recitation(
    model: byheart.Model,
    code: bytes,
    vocabulary: bytes,
    unread: list[str],
    tokens: list[str],
) -> list[str]:
    """What a saved model says by itself after the first token, with network and words unpacked."""
    labels = unpacked_labels(vocabulary)
    known = tuple(sorted({*labels, tokens[0]} - set(unread)))
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        opened = byheart.open(Path(folder) / "model")
    unpacked = replace(
        opened,
        network=decode(code),
        words=Words("string", known),
        claim=replace(opened.claim, labels=labels),
    )
    answers = islice(continued(unpacked, tokens[:1]), len(tokens) - 1)
    return [tokens[0], *(str(answer.label) for answer in answers)]


def measure(options: Options) -> dict:
    if options.tiny:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tiny.txt"
            path.write_text(TINY)
            return {"machine": machine(), "rows": [measured(path, "word")]}
    texts = sorted(options.file("texts").iterdir(), key=lambda path: path.stat().st_size)
    measured(BOOK, "word")  # compile the kernels
    rows = []
    for path in [BOOK, *texts]:
        small = path.stat().st_size <= LARGEST_CHAR
        for unit in ("word", "char") if small else ("word",):
            rows.append(measured(path, unit))
            print(json.dumps(rows[-1]), flush=True)
    return {"machine": machine(), "rows": rows}


def sentence(row: dict) -> str:
    """The headline: what is true of a row, whichever it is."""
    how = "byte for byte" if row["exact"] else "not byte for byte"
    said = "recited" if row["recited"] else "proved step by step"
    others = sorted((row[key], name) for key, name in COMPRESSORS.items() if row[key] is not None)

    def place(size: int) -> str:
        """Among the compressors: the largest that is smaller, and the smallest that is larger."""
        below = [f"above {name} ({own:,})" for own, name in others if own <= size][-1:]
        above = [f"below {name} ({own:,})" for own, name in others if own > size][:1]
        return " and ".join([*below, *above])

    return (
        f"{row['text']} ({row['bytes']:,} bytes) in {row['parameters']:,} exact parameters, "
        f"{said} {how}: the network takes {row['network']:,} bytes, {place(row['network'])}; "
        f"network, vocabulary and rest together {row['total']:,}, {place(row['total'])}."
    )


def markdown(results: dict) -> str:
    rows, sizes, sources = results["rows"], [], []
    for row in rows:
        said = "byte for byte" if row["exact"] else "not the file"
        said = said if row["recited"] or not row["exact"] else "by induction"
        sizes.append(
            (row["text"], row["unit"], row["bytes"], row["parameters"], row["network"],
             row["words"], row["rest"], f"**{row['total']:,}**",
             *("-" if row[key] is None else row[key] for key in COMPRESSORS), row["entropy"], said,
             f"{row['build_seconds']}, {row['recite_seconds'] if row['recited'] else '-'}")
        )  # fmt: skip
        if row["unit"] == "word":
            sources.append(
                (row["text"], row["tokens"], row["vocabulary"], row["window"], row["bits_total"],
                 f"{row['evidence']}, all {row['checked']:,}", f"`{row['sha256'][:16]}`",
                 "; ".join(SOURCES.get(row["text"], ("",))))
            )  # fmt: skip
    heads = ("text", "unit", "bytes", "parameters", "network", "vocabulary", "rest", "**total**",
             *COMPRESSORS.values(), "order-0 entropy", "recited",
             "CPU s: build, recite")  # fmt: skip
    more = ("text", "tokens", "words", "window", "digits, bits", "evidence", "SHA-256", "source")
    sentences = "\n".join(f"- {sentence(row)}" for row in rows if row["unit"] == "word")
    return f"{table(heads, sizes)}\n\n{table(more, sources)}\n\n{sentences}"


def missed(results: dict) -> list[str]:
    return [f"{row['text']}: not restored" for row in results["rows"] if not row["exact"]]
