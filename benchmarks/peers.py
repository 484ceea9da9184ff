"""What else answers questions about facts, beside a compiled model: where byheart is not the tool.

N facts of four words of 400 with one of 37 answers, the same for all. Seconds are those of one CPU,
a question is asked one at a time of what is open already. Ribbon retrieval has no binding that
could be installed here: its row is what its authors publish, and says so.
"""

import bz2
import heapq
import json
import lzma
import math
import pickle
import random
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import byheart

from .report import Options, machine, table

FACTS, ANSWERS, WORDS, ASKED = 10_000, 37, 400, 2000
MARK = 20  # bits of the fingerprint that detects unknown questions
STATIC = 1.03  # of the equations: Genuzio, Ottaviano and Vigna, SEA 2016, four variables in each
RIBBON = 1.01  # of a value's bits: Dillinger, Hübschle-Schneider, Sanders and Walzer, SEA 2022


def facts(count: int) -> dict[tuple[str, ...], str]:
    pick, found = random.Random(5), dict[tuple[str, ...], str]()
    words = [f"w{i}" for i in range(WORDS)]
    while len(found) < count:
        row = tuple(pick.choice(words) for _ in range(4))
        found.setdefault(row, f"answer-{pick.randrange(ANSWERS)}")
    return found


def code_word(counts: Counter[str]) -> float:
    """The mean length of a code word in Huffman's code, in bits."""
    nodes, total = sorted(counts.values()), 0
    while len(nodes) > 1:
        joined = heapq.heappop(nodes) + heapq.heappop(nodes)
        heapq.heappush(nodes, joined)
        total += joined
    return total / counts.total()


def asked(ask: Callable[[Any], object], questions: list) -> float:
    """Microseconds for one question."""
    ask(questions[0])
    start = time.process_time()
    for question in questions:
        ask(question)
    return (time.process_time() - start) / len(questions) * 1e6


def row(
    name: str, size: float, build: float | None, us: float | None, keys: bool, absent: str
) -> dict:
    return {"name": name, "bits": size, "build": build, "us": us, "keys": keys, "absent": absent}


def compiled(rows: list, folder: Path, questions: list, mark: int) -> list[dict]:
    """A model in its packed file, asked one at a time and all at once."""
    start = time.process_time()
    model = byheart.compile(rows, reject_unknown=mark)
    build, path = time.process_time() - start, folder / f"{mark}.byheart"
    model.save(path, packed=True)
    size, model = 8 * path.stat().st_size / len(rows), byheart.open(path)
    for question in questions[:200]:
        model.recall(question)  # kernels are loaded once
    one = asked(model.recall, questions)
    many = asked(model.answers, [[tokens for tokens, _ in rows]]) / len(rows)
    option = f" --reject-unknown {mark}" if mark else ""
    absent = f"unknown, but for 2^-{mark} of them" if mark else "any answer"
    alone = model.record.bits.encoded / len(rows)
    network = row(f"byheart{option}: the network's code word", alone, build, one, False, absent)
    whole = row("the packed file, with words; all questions at once", size, None, many, False, "")
    return [network, *([] if mark else [whole])]


def measure(options: Options) -> dict:
    count = 50 if options.tiny else FACTS
    given = facts(count)
    rows = [(list(words), answer) for words, answer in given.items()]
    questions = [tokens for tokens, _ in random.Random(1).sample(rows, min(count, ASKED))]
    keys = [" ".join(words) for words in questions]
    entropy = -sum(n / count * math.log2(n / count) for n in Counter(given.values()).values())
    found = [row("what the answers need: their entropy", entropy, None, None, False, "")]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for mark in (0, MARK):
            found += compiled(rows, folder, questions, mark)
        lines = (json.dumps({"input": words, "label": answer}) for words, answer in rows)
        text = "\n".join(lines).encode()
        for name, module in (("xz", lzma), ("bzip2", bz2)):
            start = time.process_time()
            packed = module.compress(text)
            build = time.process_time() - start
            us = asked(module.decompress, [packed] * 5)
            bits = 8 * len(packed) / count
            found.append(row(f"{name} of the .jsonl", bits, build, us, True, "known"))
        start, path = time.process_time(), folder / "facts.db"
        base = sqlite3.connect(path)
        base.execute("create table facts (k text primary key, v integer) without rowid")
        values = ((" ".join(words), int(answer[7:])) for words, answer in given.items())
        base.executemany("insert into facts values (?, ?)", values)
        base.commit()
        base.execute("vacuum")
        build, select = time.process_time() - start, "select v from facts where k = ?"
        us = asked(lambda key: base.execute(select, (key,)).fetchone(), keys)
        bits = 8 * path.stat().st_size / count
        base.close()
        found.append(row("sqlite, without rowid", bits, build, us, True, "known"))
    start = time.process_time()
    held = {" ".join(words): answer for words, answer in given.items()}
    build, bits = time.process_time() - start, 8 * len(pickle.dumps(held)) / count
    found.append(row("a Python dict, pickled", bits, build, asked(held.get, keys), True, "known"))
    return {"machine": machine(), "facts": count, "answers": ANSWERS, "rows": found}


def markdown(results: dict) -> str:
    def short(value: float | None, digits: int = 2) -> str:
        return "-" if value is None else f"{value:,.{digits}f}" if value < 100 else f"{value:,.0f}"

    heads = ("", "holds the questions", "bits per fact", "build, CPU s", "one question, us",
             "a question that is not in the data")  # fmt: skip
    bits = (results["answers"] - 1).bit_length()
    ribbon = [
        row(f"ribbon retrieval of {n} bits, as published", RIBBON * n, None, None, False, absent)
        for n, absent in (
            (bits, "any answer"),
            (bits + MARK, f"unknown, but for 2^-{MARK} of them"),
        )
    ]
    static = row(
        "compressed static function, by calculation",
        STATIC * code_word(Counter(facts(results["facts"]).values())), None, None, False,
        "any answer",
    )  # fmt: skip
    entropy, *measured = results["rows"]
    body = [
        (x["name"], "yes" if x["keys"] else "no", short(x["bits"]), short(x["build"]),
         short(x["us"]), x["absent"] or "-")
        for x in (entropy, static, *ribbon, *measured)
    ]  # fmt: skip
    many = f"{results['facts']:,} facts of four words, {results['answers']} answers"
    said = (
        f"{many}; building byheart's models includes the proof. Ribbon retrieval was not run: its "
        "authors (Dillinger, Hübschle-Schneider, Sanders and Walzer, 2022; abstract read) publish "
        "values of r bits in at most 1 % more. Nor was a compressed static function (Genuzio and "
        "Vigna, 2018; abstract read), which holds answers in a prefix code as byheart does: "
        "calculated are the mean code word and 3 % for random systems. A compressed file is "
        "unpacked as a whole for every question."
    )
    return f"{said}\n\n{table(heads, body)}"
