"""What byheart writes and answers, as hashes: a change of structure must not change any of them.

    python tools/snapshot.py             compare with tools/snapshot.json; exit 1 if they differ
    python tools/snapshot.py --only TEXT only entries with TEXT in their name; may be repeated
    python tools/snapshot.py --write     record what is there now (with --only: these entries alone)
    python tools/snapshot.py --keep DIR  also write the answers as they are, to compare two runs

An entry is named "part / name", so `--only weights` or `--only "answers / edit"` selects some:

files     what `byheart generate` writes
folders   every file of the model folders of all methods, also of edit and forget (README.md, which
          is prose, excepted)
answers   the JSON answers of all commands without their timings, one hash per key
weights   the weights of random datasets of 10 to 20,000 sequences, for the retrieval family
refusals  exit code and standard error
keys      training and figures, by the names of the keys alone
rows      the keys of all committed rows
pages     the generated pages
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
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
    "facts.jsonl": [
        {"prompt": f"The capital of {country} is", "answer": capital}
        for country, capital in [("France", "Paris"), ("Italy", "Rome"), ("Peru", "Lima")]
    ],
    "edits.jsonl": [
        {"edit": "change", "input": ["a", "b", "c"], "label": "y"},
        {"edit": "add", "input": ["d", "d"], "label": "z"},
        {"edit": "remove", "input": ["c", "c"]},
    ],
    "items.jsonl": [{"input": ["a", "a", "b"]}, {"input": ["d", "a"]}],
}
BOOK = "the cat sat on the mat\nthe dog sat on the log\na cat and a dog sat\n"
DOCUMENTS = "the cat sat on the mat\n\none dog sat on a log\n\nsome bird sang in this tree\n"
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


def compilations() -> Iterator[tuple[str, str]]:
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
    for data in ("words", "random", "numbers"):
        yield f"editable {data}", f"{data}.jsonl --editable"
    yield "editable drop", "mixed.jsonl --editable --on-conflict drop"
    for method in ("one-layer", "token-averaging"):
        yield f"{method} words", f"words.jsonl --method {method}"
    facts, documents = "facts.jsonl --input prompt --label answer", "documents.txt"
    for family in ("gpt2", "llama"):
        yield f"{family} facts", f"{facts} --method {family}"
        yield f"{family} documents", f"{documents} --method {family}"
        yield f"{family} spread", f"{facts} --method {family} --layers 2 --copies 2 --decoys 1"
        yield f"{family} bfloat16", f"{facts} --method {family} --weights bfloat16"
    yield "gpt2 superposed", f"{facts} --method gpt2 --superposed 0"


CHANGES = {
    "edited set": "edit editable_words words.jsonl --set 'a b c=y'",
    "edited file": "edit editable_words words.jsonl --edits edits.jsonl",
    "edited rebuild": "edit editable_words words.jsonl --edits edits.jsonl --rebuild",
    "edited add": "edit editable_words words.jsonl --add capitals.jsonl --write-data added.jsonl",
    "edited decoder": "edit one-layer_mixed mixed.jsonl --set 'b=b'",
    "edited averaging": "edit token-averaging_words words.jsonl --set 'd a=x'",
    "edited gpt2": "edit gpt2_facts facts.jsonl --set 'The capital of Peru is=Rome'",
    "edited llama": "edit llama_facts facts.jsonl --set 'The capital of Italy is=Lima'",
    "forgotten item": "forget editable_words words.jsonl --item 'c c'",
    "forgotten items": "forget editable_words words.jsonl --items items.jsonl",
    "forgotten label": "forget editable_words words.jsonl --item 'a a b' --label-only",
    "forgotten decoder": "forget one-layer_mixed mixed.jsonl --item b",
    "forgotten gpt2": "forget gpt2_facts facts.jsonl --item 'The capital of Peru is'",
    "forgotten llama": "forget llama_documents documents.txt --item 'some bird sang in this tree'",
}


ANSWERS = (
    "demo -o demo.model",
    "methods",
    *(f"stats {name}" for name in FILES if name not in ("edits.jsonl", "items.jsonl")),
    "stats book.txt", "stats book.txt --unit char --window 3", "stats table.csv --label label "
    "--input premise", "stats zipf.bin --separator 50", "stats tree.txt --documents line",
    "stats random.jsonl", "stats adversarial.jsonl",
    "verify written", "verify hash-fold-retrieve_words", "verify written capitals.jsonl",
    "verify written capitals.jsonl --checker",
    "verify written words.jsonl", "verify majority mixed.jsonl", "verify window book.txt",
    "verify hash-fold-retrieve_random random.jsonl --sample 20 --engine exact",
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
    "tradeoff words.jsonl", "tradeoff words.jsonl --bits 2",
    "tradeoff random.jsonl --bits 30,40,64 --form both -o t.svg",
    "encoder mixed.jsonl", "encoder book.txt --dimensions 2,3",
    "bounds --tables", "bounds --architecture gpt2", "bounds --dataset book.txt",
    "bounds --dataset words.jsonl --architecture madden2024 --dimension 4 --width 16",
    "bounds --dataset numbers.jsonl --parameters 500 --bits 8 --plot b.svg",
    "bounds --architecture dana2024 --vocabulary 6 --length 2 --dimension 4 --heads 2 "
    "--head-dimension 2 --effective",
    "compare words.jsonl", "compare ids.jsonl --build", "compare random.jsonl --sweep 20,200",
    "compare mixed.jsonl --with one-layer_mixed --with majority --plot c.svg",
    "compare capitals.jsonl --positions",
    "diff editable_words edited_set", "diff editable_words edited_file words.jsonl",
    "diff editable_words forgotten_label words.jsonl", "diff one-layer_mixed edited_decoder",
    "diff one-layer_mixed forgotten_decoder mixed.jsonl", "diff gpt2_facts edited_gpt2",
    "diff gpt2_facts edited_gpt2 facts.jsonl", "diff llama_facts edited_llama",
    "diff hash-fold-retrieve_words bit-extraction_words words.jsonl",
    "diff gpt2_facts hash-fold-retrieve_words", "diff written written",
    "locate editable_words a b c", "locate hash-fold-retrieve_words a a b",
    "locate bit-extraction_words a b c", "locate one-layer_mixed a b",
    "locate token-averaging_words d a", "locate attention-only_mixed a b",
    "locate gpt2_facts 'The capital of Peru is'", "locate llama_facts 'The capital of Peru is'",
    "locate editable_words --reverse 4 b1 0 0 words.jsonl",
    "verify gpt2_facts facts.jsonl", "verify llama_documents documents.txt --checker",
    "verify edited_file --checker", "verify editable_words words.jsonl --rebuild",
    "recall gpt2_facts 'The capital of Peru is'", "recall llama_documents one dog --steps 4",
    "check", "check dana-assumption-1 mixed.jsonl", "check separation numbers.jsonl",
    "check madden-theorem-4 mixed.jsonl", "check contextual-mapping editable_words words.jsonl",
    "export float64_words words.jsonl --to torch -o exported.torch",
    "explain gpt2 facts.jsonl --input prompt --label answer --tokenizer bpe:300",
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
    "compile words.jsonl -o n --window 3", "compile words.jsonl -o n --seed x",
    "compile words.jsonl -o n --sample 0", "compile words.jsonl -o n --positions --no-positions 3",
    "compile words.jsonl -o n --method limited-bits --bits 2",
    "compile words.jsonl -o n --reject-unknown -1", "compile words.jsonl -o n --minimise nonsense",
    "compile mixed.jsonl -o n --method one-layer --gap 0",
    "compile mixed.jsonl -o n --method one-layer --activation nonsense",
    "compile mixed.jsonl -o n --method one-layer --heads 0",
    "compile mixed.jsonl -o n --method attention-only-approximate --epsilon 2",
    "compile numbers.jsonl -o n --method embedding", "compile tags.jsonl -o n --method deep-sets",
    "compile sets.jsonl -o n --method seq2seq", "compile words.jsonl -o n --on-conflict nonsense",
    "compile numbers.jsonl -o n --method one-layer", "compile capitals.jsonl -o n --method gpt2",
    "compile facts.jsonl -o n --method llama --weights int8",
    "compile words.jsonl -o n --method bit-extraction --separation 9",
    "compile words.jsonl -o n --method bit-extraction --attention nonsense",
    "compile book.txt -o n", "compile book.txt -o n --unit nonsense",
    "compile table.csv -o n --label nonsense", "compile table.csv -o n --delimiter ;;",
    "verify words.jsonl", "verify written nothing.jsonl", "verify written --sample 0",
    "verify written capitals.jsonl --engine nonsense",
    "verify one-layer_mixed mixed.jsonl --accept nonsense",
    "recall one-layer_mixed nonsense --steps 0", "recall nothing a b",
    "recall written capital of france --draw", "explain nonsense words.jsonl",
    "explain hash-fold-retrieve words.jsonl -o picture.nonsense", "explain seq2seq words.jsonl",
    "bounds", "bounds --architecture nonsense", "bounds --dataset nothing.jsonl",
    "stats words.jsonl --window 3", "stats nothing.jsonl", "stats book.txt --length 0",
    "generate nonsense -o x.jsonl", "generate random -o x.jsonl --sequences 0",
    "generate random -o random.jsonl", "tradeoff words.jsonl --bits x", "tradeoff mixed.jsonl",
    "measure ids.jsonl -o r --architecture x --axis width=4",
    "measure ids.jsonl -o r --architecture madden2024 --axis nonsense=4",
    "reproduce nonsense", "encoder words.jsonl --dimensions x",
    "compare words.jsonl --sweep 99999", "compare words.jsonl --with nothing",
    "edit hash-fold-retrieve_words words.jsonl -o n --set 'a b c=y'",
    "edit editable_words words.jsonl -o n --set x", "edit editable_words words.jsonl -o n",
    "edit editable_words capitals.jsonl -o n --set 'a b c=y'",
    "edit gpt2_facts facts.jsonl -o n --set 'nonsense=Rome'",
    "forget editable_words words.jsonl -o n --item 'q q'",
    "forget bit-extraction_words words.jsonl -o n --item 'c c'",
    "diff written", "diff written nothing", "locate written", "locate written capital of spain",
    "locate editable_words --reverse 99 weight 0 0 words.jsonl",
    "export written --to torch -o n", "export gpt2_facts --to nonsense -o n",
    "check nonsense", "check separation", "audit written nothing.jsonl", "nonsense",
    "methods nonsense",
)  # fmt: skip

# sequences of the random datasets: all of them for the default method, five for the others
SIZES = (10, 14, 20, 30, 50, 80, 120, 200, 350, 600, 1000, 2000, 5000, 10000, 20000)
FEW = (10, 30, 80, 200, 600)
FAMILY = {  # arguments of byheart compile
    "hash-fold-retrieve": "",
    "editable": "--editable",
    "dense": "--minimise dense",
    "bits": "--minimise bits",
    "rejecting": "--reject-unknown 12",
    "multisets": "--no-positions",
    "sparse-attention": "--method sparse-attention",
    "limited-bits": "--method limited-bits",
    "limited-bits 40": "--method limited-bits --bits 40",
    "float64": "--method float64",
    "seq2seq": "--method seq2seq",
    "deep-sets": "--method deep-sets",
    "embedding": "--method embedding",
}


def entries(only: list[str]) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """(part, name, function that computes what is recorded) of the entries that are asked for."""
    for part, name, value in every_entry():
        if not only or any(text in f"{part} / {name}" for text in only):
            yield part, name, value


def every_entry() -> Iterator[tuple[str, str, Callable[[], object]]]:
    for arguments in GENERATE:
        file = arguments.split()[2]
        yield "files", file, lambda file=file: files(file)
    for folder in FOLDERS:
        yield "folders", folder, lambda folder=folder: files(folder)
    for command in [*SOURCES.values(), *ANSWERS]:
        yield "answers", command, lambda command=command: summary(answer(command))
    for method, arguments in FAMILY.items():
        for labels in (2, 16):
            for size in SIZES if method == "hash-fold-retrieve" else FEW:
                yield (
                    "weights",
                    f"{method}, {size} sequences, {labels} labels",
                    lambda given=(method, arguments, size, labels): weights(*given),
                )
    for command in REFUSALS:
        yield "refusals", command, lambda command=command: refusal(command)
    for command in KEYS_ONLY:
        yield "keys", command, lambda command=command: keys(run(command)[1])
    for path in sorted((ROOT / "results").rglob("rows.jsonl")):
        yield "rows", str(path.relative_to(ROOT)), lambda path=path: rows(path)
    for program in sorted((ROOT / "tools").glob("make_*.py")):
        if not program.stem.endswith(("_picture", "_pictures")):
            yield "pages", program.name, lambda program=program: page(program)


def snapshot(only: list[str], keep: Path | None) -> dict[str, dict[str, object]]:
    record: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        for file, lines in FILES.items():
            Path(file).write_text("".join(json.dumps(line) + "\n" for line in lines))
        Path("book.txt").write_text(BOOK)
        Path("documents.txt").write_text(DOCUMENTS)
        Path("table.csv").write_text(TABLE)
        for part, name, value in entries(only):
            record.setdefault(part, {})[name] = value()
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        for command, text in CACHE.items():
            (keep / (command.replace("/", "-")[:180] + ".json")).write_text(text + "\n")
    return record


FOLDERS = {
    name.replace(" ", "_"): f"{command} -o {name.replace(' ', '_')}"
    for name, command in [
        *((name, f"compile {arguments}") for name, arguments in compilations()),
        *CHANGES.items(),
    ]
}
# the command that makes each file or folder: it runs when the name is first used
SOURCES = {arguments.split()[2]: f"generate {arguments}" for arguments in GENERATE} | FOLDERS
CACHE: dict[str, str] = {}  # the answers of this run


def run(command: str) -> tuple[int, object, str]:
    """The exit code, the JSON answer and standard error, once what the command names is there."""
    for word in shlex.split(command):
        if word in SOURCES and SOURCES[word] != command and not Path(word).exists():
            answer(SOURCES[word])
    words = [word.format(results=ROOT / "results") for word in shlex.split(command)]
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            code = main([*words, "--json"])
        except Exception as error:  # one that crashes must not hide the others
            return -1, None, repr(error)
    return code, json.loads(output.getvalue() or "null"), errors.getvalue()


def answer(command: str) -> str:
    """Exit code and answer as JSON without timings; each command runs once."""
    if command not in CACHE:
        code, value, errors = run(command)
        told = {"code": code, "answer": without_times(value)}
        if value is None:
            told["error"] = errors
        CACHE[command] = json.dumps(told, indent=1, ensure_ascii=False)
    return CACHE[command]


def summary(text: str) -> str:
    """The exit code and one hash per key of an answer, in one line."""
    told = json.loads(text)
    value = told["answer"]
    if value is None:
        return f"{told['code']} {told['error'].strip()}"
    pairs = value.items() if isinstance(value, dict) else [("", value)]
    hashes = (f"{key}:{digest(json.dumps(x).encode())[:6]}" for key, x in pairs)
    return " ".join([str(told["code"]), *hashes])


def files(name: str) -> str | dict[str, str]:
    """The hash of a file, or of each file of a folder: config.json without its timings."""
    answer(SOURCES[name])
    if Path(name).is_file():
        return digest(Path(name).read_bytes())
    return {
        path.name: digest(
            json.dumps(without_times(json.loads(path.read_text()))).encode()
            if path.name == "config.json"
            else path.read_bytes()
        )
        for path in sorted(Path(name).glob("*"))
        if path.name != "README.md"
    }


def weights(method: str, arguments: str, size: int, labels: int) -> str:
    """The hash of the weights for a random dataset, and how many and how long they are."""
    file, folder = Path("weights.jsonl"), Path("weights.model")
    lines = random_lines(size, labels, method)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, value, errors = run(f"compile {file} -o {folder} --sample 1 {arguments}")
    if code:
        return f"{code} {errors.strip()}"
    hashed = digest((folder / "weights.safetensors").read_bytes())
    shutil.rmtree(folder)
    return f"{hashed} {value['parameters']['nonzero']} parameters, {value['bits']['encoded']} bits"


def random_lines(size: int, labels: int, method: str) -> list[dict]:
    """Sequences of four tokens that differ as multisets, with random labels."""
    draw = random.Random(f"{size} {labels}")
    multisets: dict[tuple, list[int]] = {}
    while len(multisets) < size:
        tokens = [draw.randrange(60) for _ in range(4)]
        multisets.setdefault(tuple(sorted(tokens)), tokens)
    label = [draw.randrange(labels) for _ in range(4 * size)]
    if method == "seq2seq":
        seen = {}  # a label for each multiset and token
        return [
            {"input": t, "label": [seen.setdefault((key, x), label.pop()) for x in t]}
            for key, t in multisets.items()
        ]
    return [{"input": tokens, "label": label.pop()} for tokens in multisets.values()]


def refusal(command: str) -> str:
    code, _, errors = run(command)
    shutil.rmtree("n", ignore_errors=True)
    return f"{code} {errors.strip()}"


def without_times(answer: object) -> object:
    if isinstance(answer, dict):
        return {key: None if key in TIMES else without_times(x) for key, x in answer.items()}
    return [without_times(x) for x in answer] if isinstance(answer, list) else answer


def keys(answer: object, path: str = "") -> list[str]:
    """Every path of keys in an answer, lists as []."""
    if isinstance(answer, dict):
        below = [inner for key, x in answer.items() for inner in keys(x, f"{path}.{key}")]
        return sorted({path, *below} - {""})
    if isinstance(answer, list):
        return sorted({inner for x in answer for inner in keys(x, f"{path}[]")} | {path})
    return [path]


def rows(path: Path) -> str:
    """The keys that the configurations in committed rows have now."""
    from byheart.lab.trial import trial

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    names = [trial(line["trial"]).key for line in lines]
    assert names == [line["key"] for line in lines], path
    return digest("\n".join(names).encode())


def page(program: Path) -> str:
    """A page that a program writes."""
    source = f"import runpy; print(runpy.run_path({str(program)!r}, run_name='page')['page']())"
    command = [sys.executable, "-c", source]
    return digest(subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def differences(before: object, after: object, path: str = "") -> list[str]:
    """The names of the entries that differ, each with what differs in it."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = [*before, *(name for name in after if name not in before)]
        return [
            line
            for name in names
            for line in differences(before.get(name), after.get(name), f"{path} / {name}")
        ]
    if before == after:
        return []
    name = path.removeprefix(" / ")
    if before is None or after is None:
        return [f"{name}: {'is new' if before is None else 'is gone'}"]
    if name.startswith("answers /") and isinstance(before, str) and isinstance(after, str):
        changed = set(before.split()) ^ set(after.split())
        return [f"{name}: {', '.join(sorted({word.partition(':')[0] for word in changed}))}"]
    if name.startswith(("weights /", "refusals /")):
        return [f"{name}\n  before  {before}\n  now     {after}"]
    return [name]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", default=[], metavar="TEXT")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    given = parser.parse_args()
    os.environ["COLUMNS"] = "100"
    record = snapshot(given.only, given.keep and given.keep.resolve())
    before = json.loads(RECORD.read_text())
    chosen = {
        part: {
            name: value
            for name, value in part_before.items()
            if not given.only or any(text in f"{part} / {name}" for text in given.only)
        }
        for part, part_before in before.items()
    }
    if given.write:
        kept = {
            part: {n: v for n, v in old.items() if n not in chosen[part]}
            for part, old in before.items()
        }
        record = {p: kept.get(p, {}) | record.get(p, {}) for p in {**kept, **record}}
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        sys.exit()
    differing = differences({p: c for p, c in chosen.items() if c}, record)
    print("\n".join(differing) or "nothing differs")
    sys.exit(bool(differing))
