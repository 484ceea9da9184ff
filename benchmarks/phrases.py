"""Texts in words and in phrases, counted as pieces and as the one file that byheart writes.

The long texts of the folder texts/ of the data, and the stories beside it, are measured as
benchmarks/texts.py measures them: restored byte for byte from the code word of the network, the
vocabulary and the rest, all predictions proved. The packed file is what `compile --packed` writes,
which also has the rules that split a text, the claim and the hashes.
"""

import json

from .report import Options, machine, table
from .texts import COMPRESSORS, LARGEST_CHAR, measured

UNITS = ("word", "phrases")
TINY = "the cat sat on the mat and the dog sat on the cat\n"
# bytes in phrases as pieces, and no more parameters than in words
MOST = {"tinyshakespeare.txt": 325_000, "tinystories.txt": 288_000, "moby.txt": 376_000}


def measure(options: Options) -> dict:
    if options.tiny:
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tiny.txt"
            path.write_text(TINY * 40)
            return {"machine": machine(), "rows": [measured(path, unit) for unit in UNITS]}
    texts = [*options.file("texts").iterdir(), options.file("tinystories.txt")]
    texts = [path for path in texts if path.stat().st_size > LARGEST_CHAR]
    rows = []
    for path in sorted(texts, key=lambda path: path.stat().st_size):
        for unit in UNITS:
            rows.append(measured(path, unit))
            print(json.dumps(rows[-1]), flush=True)
    return {"machine": machine(), "rows": rows}


def markdown(results: dict) -> str:
    heads = ("text", "unit", "parameters", "network", "vocabulary", "rest", "**total**",
             "the packed file", *COMPRESSORS.values(), "restored",
             "CPU s: build, recite")  # fmt: skip
    body = [
        (row["text"], row["unit"], row["parameters"], row["network"], row["words"], row["rest"],
         f"**{row['total']:,}**", row["file"],
         *("-" if row[key] is None else row[key] for key in COMPRESSORS),
         "byte for byte" if row["exact"] else "not the file",
         f"{row['build_seconds']}, {row['recite_seconds']}")
        for row in results["rows"]
    ]  # fmt: skip
    return table(heads, body)


def missed(results: dict) -> list[str]:
    rows = results["rows"]
    found = [f"{row['text']}: not restored" for row in rows if not row["exact"]]
    words = {row["text"]: row["parameters"] for row in rows if row["unit"] == "word"}
    return found + [
        f"{row['text']}, in phrases: {row['total']:,} bytes"
        for row in rows
        if row["unit"] == "phrases"
        and row["text"] in MOST
        and (row["total"] > MOST[row["text"]] or row["parameters"] > words[row["text"]])
    ]
