"""Stock checkpoints: size, time, proof, strangers, and what transformers makes of them.

    python benchmarks/stock.py [--data ../shared/data] [--largest 21595] [--write]

Facts are the first prompts of CounterFact (counterfact.jsonl, columns prompt and answer), stories
the first of TinyStories (tinystories.txt). Every row is measured in a process of its own with one
thread: seconds are CPU seconds, memory is the largest resident set of compiling and proving.
Strangers are stored prompts (of stories: contexts) with one token replaced by another of the data;
one is answered if the likeliest next token is not the end. The rows of transformers are there where
it is installed, those of TransformerLens likewise; the 16-bit rows are checkpoints with weights of
that type.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import byheart
from byheart.compiler import compiling
from byheart.models.model import Model
from byheart.stock.forward import answers
from byheart.stock.texts import texts_of
from byheart.theory.information import ALLENZHU_2024, MORRIS_2025

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- stock:begin -->", "<!-- stock:end -->"
THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
FACTS, STORIES, STRANGERS = "facts", "stories", 500
BRIDGE = "TransformerBridge"  # of TransformerLens, in float32
TOKENIZER = {FACTS: "bpe:8000", STORIES: "bpe:4000"}
SIXTEEN = 0.02  # the reach of the 16-bit rows
GOAL = 100_000
GENERATED = 10  # documents
# data, how many, method, options, types in which transformers runs it; BRIDGE: TransformerLens does
ROWS: list[tuple[str, int, str, dict, list[str]]] = [
    (FACTS, 1_000, "gpt2", {}, ["float32", BRIDGE]),
    (FACTS, 10_000, "gpt2", {}, ["float32"]),
    (FACTS, 21_595, "gpt2", {}, []),
    (FACTS, 1_000, "llama", {}, ["float32", BRIDGE]),
    (FACTS, 10_000, "llama", {}, ["float32"]),
    (STORIES, 70, "gpt2", {}, ["float32"]),
    *(
        (FACTS, 1_000, method, {"weights": kind, "reach": SIXTEEN}, [kind])
        for method in ("gpt2", "llama")
        for kind in ("float16", "bfloat16")
    ),
]
# rows by data, count and method: largest file in MB, build and proof in CPU seconds
MUST = {
    (FACTS, 10_000, "gpt2"): {"megabytes": 20, "build": 20, "proof": 60},
    (FACTS, 10_000, "llama"): {"megabytes": 60, "build": 20, "proof": 60},
}


def load(data: Path, kind: str, count: int, folder: str) -> byheart.Dataset:
    """The first facts or stories."""
    if kind == FACTS:
        lines = (data / "counterfact.jsonl").read_text().splitlines(keepends=True)[:count]
        path = Path(folder) / "facts.jsonl"
        path.write_text("".join(lines))
        columns = {"input": ["prompt"], "label": "answer"}
        return byheart.load(path, **columns, tokenizer=TOKENIZER[kind])
    mark = "<|endoftext|>\n"
    parts = (data / "tinystories.txt").read_text().split(mark)[:count]
    path = Path(folder) / "stories.txt"
    path.write_text(mark.join(parts))
    return byheart.load(path, tokenizer=TOKENIZER[kind])


def measured(row: dict, data: Path) -> dict:
    """One row, in this process: `child` runs it in one of its own."""
    with tempfile.TemporaryDirectory() as folder:
        dataset = load(data, row["data"], row["count"], folder)
        proof, verify, own = 0.0, compiling.verify, dataset

        def timed(model, prepared, **keywords):
            nonlocal proof, own
            started = time.process_time()
            found = verify(model, prepared, **keywords)
            proof, own = time.process_time() - started, prepared
            return found

        compiling.verify = timed
        started = time.process_time()
        model = byheart.compile(dataset, row["method"], on_conflict="majority", **row["options"])
        total = time.process_time() - started
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        place = Path(folder) / "model"
        model.save(place)
        found = model.verification
        sizes = {file.name: file.stat().st_size for file in place.iterdir()}
        result = row | {
            "predictions": found.checked,
            "relabelled": model.about["conflicts"]["relabelled"],
            "stored": len(model.claim.holders),
            "evidence": found.evidence,
            "margin": found.margin,
            "parameters": model.parameters.dense,
            "entropy": model.bits.entropy,
            "information": model.bits.information,
            "megabytes": sizes["model.safetensors"] / 1e6,
            "folder_megabytes": sum(sizes.values()) / 1e6,
            "build": total - proof,
            "proof": proof,
            "memory": memory,
            "strangers": strangers(model, row["data"] == STORIES),
            "transformers": {},
        }
        if find_spec("transformers") is not None:
            places, rows = model.places, range(len(own))
            sequences = [np.array([places[x] for x in own.sequence(i)]) for i in rows]
            wanted = np.array([places[own.label(i)] for i in rows])
            missing = find_spec("transformer_lens") is None
            for kind in (x for x in row["types"] if not (x == BRIDGE and missing)):
                result["transformers"][kind] = ran(place, kind, sequences, wanted)
            if row["data"] == STORIES:
                result["recited"] = recited(place, sequences, wanted)
        return result


def strangers(model: Model, documents: bool) -> dict:
    """How many contexts with one token replaced are answered; of documents, by where it was.

    Near is what the heads that look back can see, far is before that.
    """
    random = np.random.default_rng(0)
    end = model.places[model.claim.end]
    held = {holder.tokens.tobytes() for holder in model.claim.holders}
    known = [holder.tokens for holder in model.claim.holders if len(holder.tokens) >= 4]
    used = np.unique(np.concatenate(known))
    used = used[used != end]
    window = model.network.size("heads")
    changed, far = [], []
    for i in random.permutation(len(known))[:STRANGERS].tolist():
        tokens = known[i].copy()
        first = int(tokens[0] == end)  # the token that begins every text stays
        at = int(random.integers(first, len(tokens)))
        tokens[at] = random.choice(used[used != tokens[at]])
        if tokens.tobytes() not in held:
            changed.append(tokens)
            far.append(at < len(tokens) - window)
    said = answers(model.network, changed) != end
    if not documents:
        return {"answered": int(said.sum()), "of": len(said)}
    away = np.array(far)
    return {
        "answered": int(said.sum()),
        "of": len(said),
        "far_answered": int(said[away].sum()),
        "far": int(away.sum()),
    }


def ran(place: Path, kind: str, sequences: list[np.ndarray], wanted: np.ndarray) -> dict:
    """Predictions that transformers makes right in this type; a text is run once."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    dtype = torch.float32 if kind == BRIDGE else getattr(torch, kind)
    model = AutoModelForCausalLM.from_pretrained(place, dtype=dtype).eval()
    if kind == BRIDGE:
        from transformer_lens.model_bridge import TransformerBridge

        words = AutoTokenizer.from_pretrained(place)
        model = TransformerBridge.boot_transformers(str(place), hf_model=model, tokenizer=words)
    texts = texts_of(sequences)
    rows: dict[int, list[int]] = {}
    for row, text in enumerate(texts.text.tolist()):
        rows.setdefault(text, []).append(row)
    lengths: dict[int, list[int]] = {}
    for text, tokens in enumerate(texts.tokens):
        lengths.setdefault(len(tokens), []).append(text)
    right = 0
    started = time.process_time()
    for length, members in lengths.items():
        step = max(1, 512 // length)
        for begin in range(0, len(members), step):
            part = members[begin : begin + step]
            with torch.inference_mode():
                batch = torch.tensor(np.stack([texts.tokens[i] for i in part]))
                logits = model(batch)
                said = getattr(logits, "logits", logits).argmax(-1).numpy()
            for owner, text in enumerate(part):
                own = rows[text]
                right += int((said[owner, texts.place[own]] == wanted[own]).sum())
    return {"right": right, "of": len(sequences), "seconds": time.process_time() - started}


def recited(place: Path, sequences: list[np.ndarray], wanted: np.ndarray) -> dict:
    """Documents that `generate()` recites whole, from the first tokens that are theirs alone."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(place).eval()
    end = model.config.eos_token_id
    texts = [x for x, label in zip(sequences, wanted.tolist(), strict=True) if label == end]
    right = 0
    for tokens in texts[:GENERATED]:
        others = [x for x in texts if not np.array_equal(x, tokens)]
        alone = (
            size
            for size in range(1, len(tokens) + 1)
            if not any(np.array_equal(x[:size], tokens[:size]) for x in others)
        )
        prompt = torch.tensor(tokens[: next(alone)])[None]
        mask, most = torch.ones_like(prompt), len(tokens) + 1 - prompt.shape[1]
        said = model.generate(
            prompt, attention_mask=mask, max_new_tokens=most, do_sample=False, pad_token_id=end
        )
        right += said[0].tolist() == [*tokens.tolist(), end]
    return {"right": right, "of": len(texts[:GENERATED])}


def child(row: dict, data: Path) -> dict:
    """`measured` in a fresh process with one thread."""
    command = [sys.executable, __file__, "--row", json.dumps(row), "--data", str(data)]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, env=os.environ | THREAD, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def named(row: dict) -> str:
    """The name of a row: what, how, and with which options."""
    options = "".join(f" --{name} {value}" for name, value in row["options"].items())
    what = {FACTS: "CounterFact facts", STORIES: "TinyStories"}[row["data"]]
    return f"{row['count']:,} {what}, `{row['method']}{options}`"


def of(part: dict, key: str = "answered", whole: str = "of") -> str:
    return f"{part[key]:,} of {part[whole]:,}"


def markdown(results: list[dict]) -> str:
    """The tables of docs/stock.md."""
    lines = [
        "| data, method | predictions | neurons that hold them | evidence, float32 margin "
        "| build, CPU s | proof or run, CPU s | weights, MB | peak memory, GB "
        "| strangers answered |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in results:
        margin = "" if row["margin"] is None else f", {row['margin']:.2f} nats"
        lines.append(
            f"| {named(row)} | {row['predictions']:,} | {row['stored']:,} "
            f"| {row['evidence']}{margin} | {row['build']:.1f} | {row['proof']:.1f} "
            f"| {row['megabytes']:.1f} | {row['memory'] / 1e9:.2f} | {of(row['strangers'])} |"
        )
    lines += [
        "",
        "It is not small. The entropy is what these answers need by their frequencies; a parameter "
        "of 32 bits could hold 32 of them, training reaches about 2 (Allen-Zhu and Li 2024) to 3.6 "
        "(Morris et al. 2025) by rules of thumb:",
        "",
        "| data, method | parameters | per neuron | bits per parameter | entropy, bits "
        "| parameters at 2 bits each | at 3.6 | at 32 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    plain = [row for row in results if not row["options"]]
    for row in plain:
        bits, count = row["entropy"], row["parameters"]
        limits = (bits / each for each in (ALLENZHU_2024, MORRIS_2025, 32))
        lines.append(
            f"| {named(row)} | {count:,} | {count / row['stored']:,.0f} | {bits / count:.4f} "
            f"| {bits:,.0f} | {' | '.join(f'{limit:,.0f}' for limit in limits)} |"
        )
    tried = [(row, kind, part) for row in results for kind, part in row["transformers"].items()]
    if tried:
        lines += [
            "",
            "In transformers and TransformerLens, observed:",
            "",
            "| data, method | type or library | right | CPU s |",
            "| --- | --- | ---: | ---: |",
        ]
    for row, kind, part in tried:
        lines.append(f"| {named(row)} | {kind} | {of(part, 'right')} | {part['seconds']:.1f} |")
    for row in results:
        if "far" in row["strangers"] and row["strangers"]["far"]:
            found = row["strangers"]
            near = found["of"] - found["far"]
            lines += [
                "",
                f"Of the strangers among {named(row)}, {of(found, 'far_answered', 'far')} were "
                "answered where the token that was replaced stands before the last ones that heads "
                f"copy, {found['answered'] - found['far_answered']:,} of {near:,} where it is one "
                "of these. Stories share beginnings and continue them differently: "
                f"{row['relabelled']:,} predictions got the most frequent continuation instead."
                + (
                    f" `generate()` recites {of(row['recited'], 'right')} stories whole, from the "
                    "first tokens that no other story shares."
                    if "recited" in row
                    else ""
                ),
            ]
    return "\n".join([*lines, "", *growth(plain)])


def growth(results: list[dict]) -> list[str]:
    """From the smallest to 10,000 facts, and what 100,000 would cost by a n + b n^2."""
    lines = [
        "Growth, and what 100,000 neurons would cost: proof and build are a n + b n^2 through the "
        "two largest rows that were measured, parameters a + b n. These are extrapolated, not "
        "measured:",
        "",
        "| method | from | parameters | build, CPU s | proof, CPU s | peak memory, GB |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for method in dict.fromkeys(row["method"] for row in results):
        rows = [row for row in results if row["method"] == method and row["data"] == FACTS]
        for small, large in zip(rows[:-1], rows[1:], strict=True):
            ratios = (large[key] / small[key] for key in ("parameters", "build", "proof", "memory"))
            cells = " | ".join(f"x {ratio:.1f}" for ratio in ratios)
            lines.append(f"| `{method}` | {small['count']:,} to {large['count']:,} | {cells} |")
        if len(rows) > 1:
            first, last = rows[-2:]
            n, m = first["stored"], last["stored"]
            slope = (last["parameters"] - first["parameters"]) / (m - n)
            parameters = last["parameters"] + slope * (GOAL - m)
            seconds = []
            for key in ("build", "proof"):
                a, b = np.linalg.solve([[n, n * n], [m, m * m]], [first[key], last[key]])
                if b < 0:  # the smaller row is noise: all of the larger one is quadratic, at worst
                    a, b = 0.0, last[key] / m**2
                seconds.append(a * GOAL + b * GOAL * GOAL)
            memory = last["memory"] + (last["memory"] - first["memory"]) * (GOAL - m) / (m - n)
            lines.append(
                f"| `{method}` | 100,000 neurons, extrapolated | {parameters:,.0f} "
                f"| {seconds[0]:,.0f} | {seconds[1]:,.0f} | {memory / 1e9:.1f} |"
            )
    return lines


def missed(results: list[dict]) -> list[str]:
    """Limits that do not hold."""
    found = []
    for row in results:
        name = named(row)
        if not row["options"]:
            if row["evidence"] != "proved":
                found.append(f"{name}: {row['evidence']}")
            if "recited" in row and row["recited"]["right"] != row["recited"]["of"]:
                found.append(f"{name}: {of(row['recited'], 'right')} recited whole")
            part = row["strangers"]
            if part["answered"] > 0.05 * part["of"]:
                found.append(f"{name}: {of(part)} strangers answered")
            for key, most in MUST.get((row["data"], row["count"], row["method"]), {}).items():
                if row[key] > most:
                    found.append(f"{name}: {key} {row[key]:.1f}")
        for kind, part in row["transformers"].items():
            if part["right"] != part["of"]:
                found.append(f"{name}: {of(part, 'right')} right in {kind}")
    return found


def write(results: dict) -> None:
    (ROOT / "benchmarks/stock.json").write_text(json.dumps(results, indent=1) + "\n")
    path = ROOT / "docs/stock.md"
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{markdown(results['rows'])}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--largest", type=int, default=21_595, help="facts")
    parser.add_argument("--write", action="store_true", help="write stock.json and docs/stock.md")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        print(json.dumps(measured(json.loads(options.row), options.data)))
        return
    if not (options.data / "counterfact.jsonl").exists():
        sys.exit(f"{options.data} has no counterfact.jsonl; give the folder with --data")
    results = []
    for data, count, method, chosen, types in ROWS:
        if count > options.largest:
            continue
        row = {"data": data, "count": count, "method": method, "options": chosen, "types": types}
        results.append(child(row, options.data))
        print(json.dumps(results[-1]), flush=True)
    machine = f"{platform.machine()}, one thread, Python {platform.python_version()}"
    print(markdown(results))
    if options.write:
        write({"machine": machine, "rows": results})
    if found := missed(results):
        sys.exit("not reached: " + "; ".join(found))


if __name__ == "__main__":
    main()
