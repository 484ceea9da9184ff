"""Stock checkpoints: size, time, proof, non-members, and what transformers makes of them.

Facts are the first prompts of CounterFact (counterfact.jsonl, columns prompt and answer), stories
the first of TinyStories (tinystories.txt). Every row is measured in a process of its own with one
thread; memory is the largest resident set of compiling and proving. Non-members are stored prompts
(of stories: contexts) with one token replaced by another of the data; one is answered if the
likeliest next token is not the end. The rows of transformers are there where it is installed, those
of TransformerLens likewise; the 16-bit rows are checkpoints with weights of that type.
"""

import json
import resource
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import byheart
from byheart.models.model import Model
from byheart.models.source import settlement
from byheart.stock.forward import answers
from byheart.stock.prove import numbered, reads
from byheart.stock.texts import texts_of
from byheart.theory.information import ALLENZHU_2024, morris_2025

from .report import Options, cpu_seconds, machine, of, table

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


TINY = [(FACTS, 3, "gpt2", {}, ["float32"]), (STORIES, 2, "gpt2", {}, [])]


def facts(source: Path, count: int, folder: str, tokenizer: str = "bpe:8000") -> byheart.Dataset:
    """The first facts of CounterFact."""
    path = Path(folder) / "facts.jsonl"
    path.write_text("".join(source.read_text().splitlines(keepends=True)[:count]))
    return byheart.load(path, input=["prompt"], label="answer", tokenizer=tokenizer)


def stories(source: Path, count: int, folder: str) -> byheart.Dataset:
    """The first stories of TinyStories."""
    mark, path = "<|endoftext|>\n", Path(folder) / "stories.txt"
    path.write_text(mark.join(source.read_text().split(mark)[:count]))
    return byheart.load(path, tokenizer="bpe:4000")


def measured(row: dict, source: Path) -> dict:
    """One row, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        load = facts if row["data"] == FACTS else stories
        dataset = load(source, row["count"], folder)
        with cpu_seconds():
            model = byheart.compile(
                dataset, row["method"], on_conflict="majority", **row["options"]
            )
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        place = Path(folder) / "model"
        model.save(place)
        verified, seconds = model.verification, model.record.seconds
        sizes = {file.name: file.stat().st_size for file in place.iterdir()}
        result = row | {
            "predictions": verified.checked,
            "relabelled": model.record.conflicts["relabelled"],
            "stored": len(model.claim.holders),
            "evidence": verified.evidence,
            "margin": verified.margin,
            "parameters": model.parameters.dense,
            "entropy": model.bits.entropy,
            "information": model.bits.information,
            "megabytes": sizes["model.safetensors"] / 1e6,
            "folder_megabytes": sum(sizes.values()) / 1e6,
            "build": seconds["build"],
            "proof": seconds["verify"],
            "memory": memory,
            "strangers": strangers(model, row["data"] == STORIES),
            "transformers": {},
        }
        if find_spec("transformers") is not None:
            # where texts go on differently, the model was made for the most frequent continuation
            sequences, wanted = numbered(model, settlement(model, reads(model, dataset))[1])
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


def measure(options: Options) -> dict:
    rows = []
    for data, count, method, chosen, types in TINY if options.tiny else ROWS:
        if options.largest is None or count <= options.largest:
            row = {
                "data": data,
                "count": count,
                "method": method,
                "options": chosen,
                "types": types,
            }
            source = options.file("counterfact.jsonl" if data == FACTS else "tinystories.txt")
            rows.append(options.apart(measured, row, source, threads=1))
            print(json.dumps(rows[-1]), flush=True)
    return {"machine": machine(), "rows": rows}


def named(row: dict) -> str:
    """The name of a row: what, how, and with which options."""
    options = "".join(f" --{name} {value}" for name, value in row["options"].items())
    what = {FACTS: "CounterFact facts", STORIES: "TinyStories"}[row["data"]]
    return f"{row['count']:,} {what}, `{row['method']}{options}`"


def markdown(results: dict) -> str:
    rows = results["rows"]
    heads = ("data, method", "predictions", "neurons that hold them", "evidence, float32 margin",
             "build, CPU s", "proof or run, CPU s", "weights, MB", "peak memory, GB",
             "non-members answered")  # fmt: skip
    body = [
        (named(row), row["predictions"], row["stored"],
         row["evidence"] + ("" if row["margin"] is None else f", {row['margin']:.2f} nats"),
         f"{row['build']:.1f}", f"{row['proof']:.1f}", f"{row['megabytes']:.1f}",
         f"{row['memory'] / 1e9:.2f}", of(row["strangers"]["answered"], row["strangers"]["of"]))
        for row in rows
    ]  # fmt: skip
    parts = [
        table(heads, body),
        "It is not small. The entropy is what these answers need by their frequencies, each as a "
        "whole; a parameter "
        "of 32 bits could hold 32 of them, training reaches about 2 (Allen-Zhu and Li 2024) to "
        "3.83 (Morris et al. 2025, by summaries of it) by rules of thumb:",
    ]
    heads = ("data, method", "parameters", "per neuron", "bits per parameter", "entropy, bits",
             "parameters at 2 bits each", "at 3.83", "at 32")  # fmt: skip
    plain, body = [row for row in rows if not row["options"]], []
    for row in plain:
        bits, count = row["entropy"], row["parameters"]
        limits = (f"{bits / each:,.0f}" for each in (ALLENZHU_2024, morris_2025(), 32))
        body.append(
            (named(row), count, f"{count / row['stored']:,.0f}", f"{bits / count:.4f}",
             f"{bits:,.0f}", *limits)
        )  # fmt: skip
    parts.append(table(heads, body))
    runs = [
        (named(row), kind, of(run["right"], run["of"]), f"{run['seconds']:.1f}")
        for row in rows
        for kind, run in row["transformers"].items()
    ]
    if runs:
        parts += ["In transformers and TransformerLens, observed:",
                  table(("data, method", "type or library", "right", "CPU s"), runs)]  # fmt: skip
    parts += [sentence(row) for row in rows if row["strangers"].get("far")]
    parts.append(
        "Growth, and what 100,000 neurons would cost: proof and build are a n + b n^2 through the "
        "two largest rows that were measured, parameters a + b n. These are extrapolated, not "
        "measured:"
    )
    heads = ("method", "from", "parameters", "build, CPU s", "proof, CPU s", "peak memory, GB")
    return "\n\n".join([*parts, table(heads, growth(plain))])


def sentence(row: dict) -> str:
    """Which non-members of documents are answered, and whether the documents are recited."""
    part = row["strangers"]
    near, answered = part["of"] - part["far"], part["answered"] - part["far_answered"]
    text = (
        f"Of the non-members among {named(row)}, {of(part['far_answered'], part['far'])} were "
        "answered where the token that was replaced stands before the last ones that heads copy, "
        f"{of(answered, near)} where it is one of these. Stories share beginnings and continue "
        f"them differently: {row['relabelled']:,} predictions got the most frequent continuation "
        "instead."
    )
    if recited := row.get("recited"):
        text += (
            f" `generate()` recites {of(recited['right'], recited['of'])} stories whole, from the "
            "first tokens that no other story shares."
        )
    return text


def growth(results: list[dict]) -> list[tuple]:
    """From the smallest to 10,000 facts, and what 100,000 would cost by a n + b n^2."""
    lines: list[tuple] = []
    for method in dict.fromkeys(row["method"] for row in results):
        rows = [row for row in results if row["method"] == method and row["data"] == FACTS]
        for small, large in zip(rows[:-1], rows[1:], strict=True):
            ratios = (large[key] / small[key] for key in ("parameters", "build", "proof", "memory"))
            grown = f"{small['count']:,} to {large['count']:,}"
            lines.append((f"`{method}`", grown, *(f"x {ratio:.1f}" for ratio in ratios)))
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
                (f"`{method}`", "100,000 neurons, extrapolated", f"{parameters:,.0f}",
                 f"{seconds[0]:,.0f}", f"{seconds[1]:,.0f}", f"{memory / 1e9:.1f}")
            )  # fmt: skip
    return lines


def missed(results: dict) -> list[str]:
    lines = []
    for row in results["rows"]:
        name = named(row)
        if not row["options"]:
            if row["evidence"] != "proved":
                lines.append(f"{name}: {row['evidence']}")
            if "recited" in row and row["recited"]["right"] != row["recited"]["of"]:
                lines.append(
                    f"{name}: {of(row['recited']['right'], row['recited']['of'])} recited whole"
                )
            part = row["strangers"]
            if part["answered"] > 0.05 * part["of"]:
                lines.append(f"{name}: {of(part['answered'], part['of'])} non-members answered")
            for key, most in MUST.get((row["data"], row["count"], row["method"]), {}).items():
                if row[key] > most:
                    lines.append(f"{name}: {key} {row[key]:.1f}")
        for kind, part in row["transformers"].items():
            if part["right"] != part["of"]:
                lines.append(f"{name}: {of(part['right'], part['of'])} right in {kind}")
    return lines
