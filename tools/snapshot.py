"""What byheart writes and answers, as hashes: a change of structure must not change any of them.

    python tools/snapshot.py             compare with tools/snapshot.json; exit 1 if they differ
    python tools/snapshot.py --write     record what is there now
    python tools/snapshot.py --keep DIR  also write the answers as they are, to compare two runs

It records the SHA-256 of every file of the model folders of all methods (README.md, which is prose,
excepted), the JSON answers of all commands without their timings, the keys of all committed rows,
and the generated pages. Training is recorded by the names of its keys alone.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from byheart.cli import main

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tools" / "snapshot.json"
TIMES = {"seconds", "cpu", "load", "build", "verify", "memory"}  # keys whose values differ by run

WORDS = [
    ("a b c", "x"), ("b a c", "x"), ("a c b", "y"), ("a a b", "z"), ("b b a", "y"),
    ("a", "x"), ("c c", "z"), ("c c", "z"), ("d a", "y"),
]  # fmt: skip
FILES = {
    "words.jsonl": [{"input": tokens.split(), "label": label} for tokens, label in WORDS],
    "capitals.jsonl": [
        {"input": ["capital", "of", "france"], "label": "paris"},
        {"input": ["capital", "of", "italy"], "label": "rome"},
        {"input": ["capital", "of", "peru"], "label": "lima"},
    ],
    "numbers.jsonl": [
        {"input": tokens, "label": label}
        for tokens, label in [([-1.5, 2], 4), ([2, -1.5], 5), ([0, 0, 0.25], 4), ([0], 6)]
    ],
    "vectors.jsonl": [
        {"input": [[1, 0.5], [0, 2]], "label": "p", "count": 2},
        {"input": [[1, 0.5]], "label": "q"},
        {"input": [[3, -1], [1, 0.5], [0, 2]], "label": "p"},
    ],
    "ids.jsonl": [
        {"input": tokens, "label": label}
        for tokens, label in [([1, 2], 4), ([2, 1], 5), ([0, 0, 7], 4), ([0], 6), ([3], 5)]
    ],
    "tags.jsonl": [
        {"input": tokens.split(), "label": labels.split()}
        for tokens, labels in [("a b", "x y"), ("b c a", "y y x"), ("c", "z")]
    ],
    "sets.jsonl": [
        {"input": tokens.split(), "label": label}
        for tokens, label in [("a b", "x"), ("b a", "x"), ("a", "y"), ("a a", "z"), ("", "y")]
    ],
    "mixed.jsonl": [
        {"input": tokens.split(), "label": label, "count": count}
        for tokens, label, count in [("a b", "b", 3), ("a b", "c", 1), ("a", "b", 1), ("b", "a", 2)]
    ],
}
BOOK = "the cat sat on the mat\nthe dog sat on the log\na cat and a dog sat\n"
TABLE = "premise,hypothesis,label\nit rains,it is wet,yes\nthe sun is out,it is dark,no\n"
LABELS = ("hash-fold-retrieve", "bit-extraction", "sparse-attention", "limited-bits", "float64")
DECODERS = (
    "one-layer", "token-averaging", "one-layer-smooth", "one-layer-narrow", "one-layer-literal",
    "attention-only", "attention-only-approximate", "attention-only-argmax",
)  # fmt: skip

GENERATE = (
    "random -o random.jsonl --sequences 2000",
    "random -o vectors.npz --sequences 300 --dimension 3 --labels 7 --skew zipf --seed 3",
    "tokens -o tokens.jsonl --sequences 200",
    "multisets -o multisets.jsonl --sequences 300 --length 3",
    "adversarial -o adversarial.jsonl",
    "zipf -o zipf.bin --sequences 200 --vocabulary 50",
    "prefix-tree -o tree.txt --sequences 50 --vocabulary 60",
)


def compilations():
    """(name of the folder, arguments of byheart compile)."""
    for method in LABELS:
        for data in ("words", "numbers", "random"):
            yield f"{method} {data}", f"{data}.jsonl --method {method}"
        yield f"{method} positions", f"words.jsonl --method {method} --positions"
    for method in ("hash-fold-retrieve", "sparse-attention"):
        options = "--reject-unknown 12 --minimise dense --seed 3"
        yield f"{method} options", f"random.jsonl --method {method} {options}"
        yield f"{method} bits", f"capitals.jsonl --method {method} --minimise bits"
    for form in ("small", "faithful"):
        named = f"--form {form}"
        for data in ("tags", "tokens"):
            yield f"seq2seq {form} {data}", f"{data}.jsonl --method seq2seq {named}"
        for data in ("sets", "multisets"):
            yield f"deep-sets {form} {data}", f"{data}.jsonl --method deep-sets {named}"
        for data in ("words", "ids"):
            yield f"embedding {form} {data}", f"{data}.jsonl --method embedding {named}"
        yield f"limited-bits {form} 40", f"random.jsonl --method limited-bits {named} --bits 40"
    yield "hard", "words.jsonl --method bit-extraction --attention hard --separation 0.5"
    yield "vectors", "vectors.jsonl"
    yield "npz", "vectors.npz --seed 1"
    yield "majority", "mixed.jsonl --on-conflict majority"
    yield "drop", "mixed.jsonl --on-conflict drop"
    yield "sample", "random.jsonl --sample 50"
    yield "window", "book.txt --documents whole --window auto"
    yield "characters", "book.txt --unit char --documents line --length 12 --on-conflict majority"
    yield "table", "table.csv --input premise --input hypothesis --label label"
    yield "written", "capitals.jsonl --write-data"
    for method in DECODERS:
        for data in ("words" if method.endswith("argmax") else "mixed", "ids"):
            yield f"{method} {data}", f"{data}.jsonl --method {method}"
    for activation in ("tanh", "erf", "arctan", "gelu"):
        yield f"one-layer {activation}", f"mixed.jsonl --method one-layer --activation {activation}"
    sizes = "--dimension 2 --heads 2 --head-dimension 1 --skip --gap 1e-6"
    yield "one-layer sizes", f"mixed.jsonl --method one-layer {sizes}"
    yield "one-layer text", "book.txt --documents line --method one-layer"
    yield "attention-only tight", "mixed.jsonl --method attention-only --tight"
    yield "attention-only look-up", "mixed.jsonl --method attention-only --encoder look-up"
    half = "mixed.jsonl --method attention-only-approximate --epsilon 0.2"
    yield "attention-only-approximate epsilon", half


ANSWERS = (
    "demo -o demo.model",
    "methods",
    *(f"stats {name}" for name in FILES),
    "stats book.txt", "stats book.txt --unit char --window 3", "stats table.csv --label label "
    "--input premise", "stats zipf.bin --separator 50", "stats tree.txt --documents line",
    "stats random.jsonl", "stats adversarial.jsonl",
    "verify written", "verify written capitals.jsonl", "verify written capitals.jsonl --checker",
    "verify written words.jsonl", "verify majority mixed.jsonl", "verify window book.txt",
    "verify random random.jsonl --sample 20 --engine exact",
    "verify one-layer_mixed mixed.jsonl", "verify one-layer_mixed mixed.jsonl --checker",
    "verify attention-only-argmax_ids ids.jsonl", "verify float64_random random.jsonl",
    "recall written capital of france", "recall written capital of france --trace",
    "recall hash-fold-retrieve_options --file random.jsonl",
    "recall deep-sets_faithful_sets --file sets.jsonl --trace",
    "recall seq2seq_small_tags a b --trace", "recall sparse-attention_words a b c --trace",
    "recall window the cat --steps 3", "recall one-layer_text the --steps 5",
    "recall one-layer_text the --steps 5 --draw --seed 4", "recall one-layer_mixed a b --trace",
    "recall attention-only_mixed a --trace", "recall written capital of spain",
    "explain hash-fold-retrieve words.jsonl", "explain limited-bits random.jsonl --bits 40",
    "explain bit-extraction words.jsonl", "explain deep-sets sets.jsonl --form faithful",
    "explain one-layer mixed.jsonl", "explain attention-only mixed.jsonl",
    "explain token-averaging mixed.jsonl", "explain sparse-attention tags.jsonl --no-positions",
    "explain embedding ids.jsonl -o picture.svg",
    "tradeoff words.jsonl", "tradeoff random.jsonl --bits 30,40,64 --form both -o t.svg",
    "encoder mixed.jsonl", "encoder book.txt --dimensions 2,3",
    "bounds --table", "bounds --architecture gpt2", "bounds --dataset book.txt",
    "bounds --dataset words.jsonl --architecture madden2024 --dimension 4 --width 16",
    "bounds --dataset numbers.jsonl --parameters 500 --bits 8 --plot b.svg",
    "bounds --architecture dana2024 --vocabulary 6 --length 2 --dimension 4 --heads 2 "
    "--head-dimension 2 --effective",
    "compare words.jsonl", "compare ids.jsonl --build", "compare random.jsonl --sweep 20,200",
    "compare mixed.jsonl --with one-layer_mixed --with majority --plot c.svg",
    "compare capitals.jsonl --positions",
)  # fmt: skip
KEYS_ONLY = (
    "measure ids.jsonl -o rows --architecture madden2024 --axis width=4,8 --seeds 1 --steps 50 "
    "--jobs 1",
    "reproduce dana-1a madden-1 kajitsuka-length -o drawn --rows {results}",
)
REFUSALS = (
    "compile words.jsonl -o n --method hash-fold-retrieve --gap 1e-9",
    "compile mixed.jsonl -o n", "compile tags.jsonl -o n --method float64",
    "compile words.jsonl -o n --method nonsense", "compile words.jsonl -o n --form faithful",
    "compile words.jsonl -o written", "compile nothing.jsonl -o n", "compile words.jsonl",
    "compile words.jsonl -o n --window 3", "verify words.jsonl", "verify written nothing.jsonl",
    "recall one-layer_mixed nonsense --steps 0", "explain nonsense words.jsonl",
    "bounds", "stats words.jsonl --window 3", "generate nonsense -o x.jsonl",
    "tradeoff words.jsonl --bits 2", "measure ids.jsonl -o r --architecture x --axis width=4",
    "reproduce nonsense", "encoder words.jsonl --dimensions x", "compare words.jsonl --sweep 99999",
)  # fmt: skip


def snapshot(keep: Path | None) -> dict:
    record: dict = {"folders": {}, "answers": {}, "keys": {}, "codes": {}}
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        for name, lines in FILES.items():
            Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        Path("book.txt").write_text(BOOK)
        Path("table.csv").write_text(TABLE)
        for arguments in GENERATE:
            record["answers"][f"generate {arguments}"] = answered(f"generate {arguments}", keep)
            file = Path(arguments.split()[2])
            record["folders"][file.name] = digest(file.read_bytes())
        for name, arguments in compilations():
            folder = name.replace(" ", "_")
            command = f"compile {arguments} -o {folder}"
            record["answers"][command] = answered(command, keep)
            assert Path(folder).is_dir(), command
            record["folders"][name] = {
                path.name: digest(path.read_bytes())
                for path in sorted(Path(folder).glob("*"))
                if path.name not in ("README.md", "config.json")
            } | {"config.json": timeless(folder)}
            if name == "hash-fold-retrieve random":
                shutil.copytree(folder, "random")
        for command in ANSWERS:
            record["answers"][command] = answered(command, keep)
        for command in KEYS_ONLY:
            record["keys"][command] = keys(run(command.format(results=ROOT / "results"))[1])
        for command in REFUSALS:
            record["codes"][command] = run(command)[0]
    record["rows"] = rows()
    record["pages"] = pages()
    return record


def run(command: str) -> tuple[int, object]:
    """The exit code and the JSON answer."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = main([*command.split(), "--json"])
    return code, json.loads(output.getvalue()) if output.getvalue() else None


def answered(command: str, keep: Path | None) -> str:
    code, answer = run(command)
    text = json.dumps({"code": code, "answer": without_times(answer)}, indent=1, ensure_ascii=False)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / (command.replace("/", "-")[:180] + ".json")).write_text(text + "\n")
    return digest(text.encode())


def without_times(answer: object) -> object:
    if isinstance(answer, dict):
        pairs = {key: None if key in TIMES else without_times(x) for key, x in answer.items()}
        return pairs
    return [without_times(x) for x in answer] if isinstance(answer, list) else answer


def timeless(folder: str) -> str:
    """The hash of config.json, which holds no timings but those of a training."""
    config = json.loads(Path(folder, "config.json").read_text())
    return digest(json.dumps(without_times(config)).encode())


def keys(answer: object, path: str = "") -> list[str]:
    """Every path of keys in an answer, lists as []."""
    if isinstance(answer, dict):
        below = [found for key, x in answer.items() for found in keys(x, f"{path}.{key}")]
        return sorted({path, *below} - {""})
    if isinstance(answer, list):
        return sorted({found for x in answer for found in keys(x, f"{path}[]")} | {path})
    return [path]


def rows() -> dict[str, str]:
    """The keys that the configurations in the committed rows have now."""
    from byheart.lab.trial import trial

    found = {}
    for path in sorted((ROOT / "results").rglob("rows.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        named = [trial(line["trial"]).key for line in lines]
        assert named == [line["key"] for line in lines], path
        found[str(path.relative_to(ROOT))] = digest("\n".join(named).encode())
    return found


def pages() -> dict[str, str]:
    """The pages that programs write."""
    found = {}
    for program in sorted((ROOT / "tools").glob("make_*.py")):
        if program.stem != "make_demo_picture":
            source = (
                f"import runpy; names = runpy.run_path({str(program)!r}, run_name='page'); "
                "print(names['page']())"
            )
            made = subprocess.run(
                [sys.executable, "-c", source], capture_output=True, check=True, cwd=ROOT
            )
            found[program.name] = digest(made.stdout)
    return found


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def differences(before: object, after: object, path: str = "") -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        names = [*before, *(name for name in after if name not in before)]
        return [
            line
            for name in names
            for line in differences(before.get(name), after.get(name), f"{path} / {name}")
        ]
    return [] if before == after else [path.removeprefix(" / ")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    os.environ.setdefault("COLUMNS", "100")
    found = snapshot(given.keep and given.keep.resolve())
    if given.write:
        RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        sys.exit()
    differing = differences(json.loads(RECORD.read_text()), found)
    print("\n".join(differing) or "nothing differs")
    sys.exit(bool(differing))
