"""Facts put into trained checkpoints: teach beside fine-tuning, MEMIT and ROME in the same run.

A really trained Llama (stories260K) and a GPT-2 that is trained here, on stories and CounterFact
sentences. Seconds are those of the processor, with one thread, without loading libraries. The
strength of every editor is searched: the one counts that has the largest harmonic mean of facts
answered and kept positions whose likeliest token stays; held-out contexts decide nothing.
"""

import contextlib
import io
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

import byheart
from byheart.auditing.checkpoint import opened
from byheart.teaching import facts as reading
from byheart.teaching.family import Trained, described
from byheart.teaching.running import logits, same_bits

from .methods import METHODS, Edit
from .report import Options, machine, of, table

READ = {"input": ["prompt"], "label": "answer"}
STEPS = 600  # of training the GPT-2
LIMIT = 25.0  # seconds of a method at one strength, after which it stops
ANIMALS = "dog cat bird bear frog fish mouse rabbit duck cow pig lion bug tree".split()
KINDS = (
    "little big red old happy sad funny brave tiny lazy green kind clever hungry shy young fat "
    "white black blue"
).split()
NAMES = "Lily Tim Tom Sue Ben Max Sam Mia Anna Jack Sara Lucy Bob Amy Spot".split()
PROMPT = "Once upon a time, there was a {} {} named"
OTHERS = (
    "One day, in the park, there was a {} {} named",
    "There was a {} {}. Its name was",
    "The {} {} was called",
)


def stories(options: Options) -> list[str]:
    texts = options.file("tinystories.txt").read_text("utf-8").split("<|endoftext|>")
    return [text.strip() for text in texts if text.strip()]


def rows(options: Options) -> list[dict[str, str]]:
    lines = options.file("counterfact.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def train(options: Options, folder: Path) -> float:
    """A GPT-2 of 2.6 million parameters on stories and 12,000 sentences; its seconds."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    began = time.process_time()
    torch.manual_seed(0)
    texts, facts = stories(options), rows(options)
    sentences = [f"{x['prompt']} {x['answer']}." for x in facts]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    end = "<|endoftext|>"
    trainer = trainers.BpeTrainer(
        vocab_size=4096, special_tokens=[end], initial_alphabet=letters, show_progress=False
    )
    tokenizer.train_from_iterator([*texts, *sentences], trainer)
    whole = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end, bos_token=end)
    whole.save_pretrained(folder)
    documents = texts[:-100] + [" ".join(sentences[i : i + 8]) for i in range(0, 12_000, 8)]
    random.Random(0).shuffle(documents)
    ids = torch.tensor([i for x in tokenizer.encode_batch(documents) for i in [*x.ids, 0]])
    width, layers = (48, 2) if options.tiny else (192, 4)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=4096, n_positions=256, n_embd=width, n_layer=layers, n_head=6,
            bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        )
    )  # fmt: skip
    optimiser = torch.optim.AdamW(model.parameters(), 2e-3, (0.9, 0.98), weight_decay=0.05)
    steps = 10 if options.tiny else STEPS
    for step in range(steps):
        warm = min(1.0, (step + 1) / 50)
        optimiser.param_groups[0]["lr"] = (
            2e-3 * warm * (0.525 + 0.475 * float(np.cos(np.pi * step / steps)))
        )
        starts = torch.randint(0, len(ids) - 129, (16,)).tolist()
        batch = torch.stack([ids[i : i + 128] for i in starts])
        loss = model(input_ids=batch, labels=batch).loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    model.eval().save_pretrained(folder)
    return time.process_time() - began


def write_texts(path: Path, texts: list[str]) -> Path:
    path.write_text("\n<|endoftext|>\n".join(texts), "utf-8")
    return path


def write_facts(path: Path, facts: list[tuple[str, str]]) -> Path:
    lines = [json.dumps({"prompt": x, "answer": y}) + "\n" for x, y in facts]
    path.write_text("".join(lines), "utf-8")
    return path


def llama_task(options: Options, place: Path, count: int) -> dict[str, Any]:
    """Names of animals, stories that stay, held-out contexts, and other sentences."""
    texts, draw = stories(options), np.random.default_rng(1)
    pairs = [(kind, animal) for kind in KINDS for animal in ANIMALS]
    more = [(f"{x} {y}", animal) for x in KINDS for y in KINDS if x != y for animal in ANIMALS]
    draw.shuffle(pairs)
    draw.shuffle(more)
    pairs = [(str(x), str(y)) for x, y in [*pairs, *more][:count]]
    answers = [NAMES[i] for i in draw.integers(0, len(NAMES), count)]
    facts = [(PROMPT.format(*x), y) for x, y in zip(pairs, answers, strict=True)]
    return {
        "facts": write_facts(place / "llama.jsonl", facts),
        "keep": write_texts(place / "llama.txt", texts[: 4 if options.tiny else 100]),
        "held": [x[:400] for x in texts[-100:]]
        + [" ".join(x.split()[:14]) for x in texts[100:1000]],
        "others": [
            [(form.format(*x), y) for x, y in zip(pairs, answers, strict=True)] for form in OTHERS
        ],
    }


def gpt2_task(options: Options, place: Path, count: int) -> dict[str, Any]:
    """Prompts of CounterFact with answers of others."""
    texts, facts = stories(options), rows(options)
    order = np.random.default_rng(1).permutation(len(facts)).tolist()
    answers = [facts[i]["answer"] for i in order[count : 2 * count]]
    taught = [(facts[i]["prompt"], y) for i, y in zip(order, answers, strict=False)][:count]
    kept = [f"{facts[i]['prompt']} {facts[i]['answer']}." for i in order[12_000:12_500]]
    return {
        "facts": write_facts(place / "gpt2.jsonl", taught),
        "keep": write_texts(place / "gpt2.txt", texts[: 4 if options.tiny else 80] + kept),
        "held": [x[:400] for x in texts[-100:]]
        + [facts[i]["prompt"] for i in order[13_000:13_900]],
        "others": [],
    }


def taught(base: Path, task: dict[str, Any], new: Path, **options: Any) -> tuple[Any, float]:
    began = time.process_time()
    with contextlib.redirect_stderr(io.StringIO()):
        found = byheart.teach(
            base, task["facts"], new, keep=[task["keep"]], on_conflict="drop", leave_out=True,
            **READ, **options,
        )  # fmt: skip
    return found, time.process_time() - began


def held_out(trained: Trained, task: dict[str, Any], prompts: set[tuple[int, ...]]) -> list:
    """Token ids of the held-out contexts that hold no taught prompt."""
    checkpoint = trained.checkpoint
    found = []
    for ids in checkpoint.tokens(task["held"])[0]:
        row = [*checkpoint.opening, *ids][: min(120, checkpoint.limit or 120)]
        if not any(tuple(row[:size]) in prompts for size in range(1, len(row) + 1)):
            found.append(row)
    return found


def answered(trained: Trained, facts: list[reading.Fact]) -> int:
    """How many facts greedy decoding gives."""
    contexts = {x: y for fact in facts for x, y in fact.contexts.items()}
    every = list(contexts)
    right = {every[i]: int(x[-1].argmax()) == contexts[every[i]] for i, x in logits(trained, every)}
    return sum(all(right[x] for x in fact.contexts) for fact in facts)


def locality(base: Trained, made: Trained, contexts: list) -> dict[str, float]:
    """Contexts and positions equal to the bit, divergence, likeliest tokens and loss."""
    equal = positions = same = flipped = 0
    divergence = loss = before = 0.0
    predicted = 0
    for (i, x), (_, y) in zip(logits(base, contexts), logits(made, contexts), strict=True):
        bits = same_bits(x, y)
        equal += bool(bits.all())
        positions += len(bits)
        same += int(bits.sum())
        one, two = x.double().log_softmax(-1), y.double().log_softmax(-1)
        divergence += float((one.exp() * (one - two)).sum())
        flipped += int((x.argmax(-1) != y.argmax(-1)).sum())
        following = torch.tensor(contexts[i][1:])
        at = torch.arange(len(following))
        before -= float(one[at, following].sum())
        loss -= float(two[at, following].sum())
        predicted += len(following)
    return {
        "contexts": len(contexts), "equal": equal, "positions": positions, "same": same,
        "divergence": divergence / positions, "flipped": flipped / positions,
        "before": before / predicted, "loss": loss / predicted,
    }  # fmt: skip


def others_answered(trained: Trained, task: dict[str, Any], place: Path) -> list[int]:
    found = []
    for number, pairs in enumerate(task["others"]):
        path = write_facts(place / f"others{number}.jsonl", pairs)
        found.append(answered(trained, reading.read_facts(trained.checkpoint, path, READ)))
    return found


def compared(
    base: Path, task: dict[str, Any], place: Path, name: str, limit: float, part: Callable[..., Any]
) -> list[dict]:
    """teach and the editors on the same facts: answers, locality, other sentences and seconds."""
    old = described(opened(base))
    found, seconds = taught(base, task, place / f"{name}.taught")
    from byheart.teaching.folder import read

    facts = list(read(place / f"{name}.taught").facts)
    contexts = dict(sorted({x: y for f in facts for x, y in f.contexts.items()}.items()))
    held = held_out(old, task, set(contexts))
    texts = reading.read_kept(old.checkpoint, task["keep"]).rows

    def row(title: str, made: Trained, spent: float, **more: Any) -> dict[str, Any]:
        return {
            "model": name, "method": title, "answered": answered(made, facts), "of": len(facts),
            **locality(old, made, held), "others": others_answered(made, task, place),
            "seconds": spent, **more,
        }  # fmt: skip

    new = described(opened(place / f"{name}.taught"))
    text = found.kept[0]
    results = [row("nothing", old, 0.0), row("teach", new, seconds, kept=text.equal,
               of_kept=text.positions - text.taught, left_out=len(found.left_out),
               margin=found.margin, added=found.parameters[1] - found.parameters[0])]  # fmt: skip
    results = [part(f"row-{x['method']}", lambda x=x: x) for x in results]
    layers = len(old.blocks)

    def edited(
        title: str, method: Callable[..., Any], strengths: tuple[float, ...], every: bool
    ) -> dict:
        """The row of the best strength of a method, and of the best block if it changes one."""
        tried = []
        edits = [
            Edit(old.model, list(contexts), list(contexts.values()), texts[:40], block, limit)
            for block in (range(layers) if every else (layers // 2,))
        ]
        for edit, strength in product(edits, strengths):
            began = time.process_time()
            model = method(edit, strength)
            made = replace(old, checkpoint=replace(old.checkpoint, model=model))
            spent = time.process_time() - began
            share = answered(made, facts) / len(facts)
            stays = 1 - locality(old, made, texts[:40])["flipped"]
            both = 2 * share * stays / max(share + stays, 1e-9)
            tried.append((both, edit.block, strength, made, spent))
        _, block, strength, made, spent = max(tried, key=lambda x: x[0])
        total = sum(x[-1] for x in tried)
        chosen = {"block": block} if every else {}
        return row(title, made, spent, strength=strength, tried=len(tried), search=total, **chosen)

    for title, how in METHODS.items():
        results.append(part(f"row-{title}", partial(edited, title, *how)))
    return results


def sequential(base: Path, task: dict[str, Any], place: Path, batches: int) -> dict[str, Any]:
    """Facts in batches, one after another, beside all at once: the bytes of the weights."""
    lines = task["facts"].read_text("utf-8").splitlines()[: batches * 20]
    model, seconds = base, 0.0
    for i in range(batches):
        part = place / f"part{i}.jsonl"
        part.write_text("\n".join(lines[i * 20 : (i + 1) * 20]) + "\n", "utf-8")
        new = place / f"step{i}"
        found, spent = taught(model, {**task, "facts": part}, new)
        model, seconds = new, seconds + spent
    whole = place / "whole.jsonl"
    whole.write_text("\n".join(lines) + "\n", "utf-8")
    taught(base, {**task, "facts": whole}, place / "once")
    names = sorted(os.listdir(place / "once"))
    same = all(
        (place / "once" / x).read_bytes() == (model / x).read_bytes()
        for x in names
        if x != "README.md"
    )
    return {"batches": batches, "facts": found.facts, "answered": found.after, "same": same,
            "left_out": batches * 20 - found.facts, "seconds": seconds}  # fmt: skip


def alone(base: Path, task: dict[str, Any], place: Path, name: str, **options: Any) -> dict:
    """teach in another type, or with more facts; and the held-out contexts."""
    new = place / f"{name}.{len(os.listdir(place))}"
    found, seconds = taught(base, task, new, **options)
    dtype = found.dtype
    old, made = described(opened(base), dtype), described(opened(new), dtype)
    from byheart.teaching.folder import read

    contexts = {x for fact in read(new).facts for x in fact.contexts}
    text = found.kept[0]
    return {
        "model": name, "dtype": dtype, "asked": found.asked, "facts": found.facts,
        "answered": found.after, "before": found.before, "contexts_taught": found.contexts,
        "layers": found.layers[1] - found.layers[0], "margin": found.margin, "kept": text.equal,
        "of_kept": text.positions - text.taught, "noise": found.noise, "reach": found.reach,
        "parameters": found.parameters, "seconds": seconds,
        "conflicts": sum("goes on otherwise" in x.reason for x in found.left_out),
        **{f"held_{k}": v for k, v in locality(old, made, held_out(old, task, contexts)).items()},
    }  # fmt: skip


def work(options: Options) -> dict[str, Any]:
    """All parts, each of which is kept in the folder of temporary files: a second run resumes."""
    torch.set_num_threads(1)
    place = Path(tempfile.mkdtemp(prefix="teach-"))
    parts = Path(tempfile.gettempdir()) / f"byheart-teach-{STEPS}"
    parts = place / "parts" if options.tiny else parts
    parts.mkdir(exist_ok=True)
    few, batches = (10, 2) if options.tiny else (200, 10)
    llama, gpt2 = options.file("stories260K") / "base", parts / "gpt2"
    limit = 1.0 if options.tiny else LIMIT

    def part(name: str, made: Callable[[], Any]) -> Any:
        path = parts / f"{name}.json"
        if not path.is_file():
            path.write_text(json.dumps(made()))
        return json.loads(path.read_text())

    results: dict[str, Any] = {"machine": machine(), "types": []}
    tasks = {"stories260K": llama_task(options, place, few)}
    results["trained"] = part("trained", lambda: train(options, gpt2))
    tasks["GPT-2"] = gpt2_task(options, place, few)
    for name, base in (("stories260K", llama), ("GPT-2", gpt2)):
        for dtype in ("float32", "bfloat16"):
            made = partial(alone, base, tasks[name], place, name, dtype=dtype)
            results["types"].append(part(f"{name}-{dtype}", made))
    results["rows"] = compared(llama, tasks["stories260K"], place, "stories260K", limit, part)
    steps = llama_task(options, place, 20 * batches)
    results["sequential"] = part("steps", lambda: sequential(llama, steps, place, batches))
    more = {"stories260K": (llama, llama_task, 2000), "GPT-2": (gpt2, gpt2_task, 1000)}
    results["sizes"] = [
        part(f"{name}-{count}", partial(alone, base, task(options, place, count), place, name))
        for name, (base, task, count) in more.items()
        if options.sizes((count,), ())
    ]
    return results


def measure(options: Options) -> dict[str, Any]:
    return options.apart(work, options, threads=1)


def markdown(results: dict[str, Any]) -> str:
    head = ("model", "method", "answered", "held-out contexts equal to the bit", "KL",
            "likeliest token changed", "loss", "other sentences", "CPU s",
            "with search")  # fmt: skip
    lines = [
        (
            x["model"], x["method"], of(x["answered"], x["of"]), of(x["equal"], x["contexts"]),
            f"{x['divergence']:.3f}", f"{100 * x['flipped']:.2f} %", f"{x['loss']:.3f}",
            "/".join(map(str, x["others"])) or "-", f"{x['seconds']:.1f}",
            f"{x['search']:.0f}" if "search" in x else "-",
        )
        for x in results["rows"]
    ]  # fmt: skip
    heads = ("model", "type", "facts asked", "taught and answered", "added layers", "parameters",
             "margin, nats", "kept equal to the bit", "held-out positions equal",
             "CPU s")  # fmt: skip
    runs = [
        (
            x["model"], x["dtype"], x["asked"], of(x["answered"], x["facts"]), x["layers"],
            f"{x['parameters'][0]:,} to {x['parameters'][1]:,}", f"{x['margin']:.2f}",
            of(x["kept"], x["of_kept"]), of(x["held_same"], x["held_positions"]),
            f"{x['seconds']:.1f}",
        )
        for x in [*results["types"], *results["sizes"]]
    ]  # fmt: skip
    parts = [table(heads, runs)] + ([table(head, lines)] if lines else [])
    if steps := results.get("sequential"):
        same = "the same bytes as" if steps["same"] else "other bytes than"
        parts.append(
            f"In {steps['batches']} batches of 20, one after another: {steps['answered']:,} of "
            f"{steps['facts']:,} facts answered, and {same} at once, in "
            f"{steps['seconds']:.0f} CPU s."
        )
    return "\n\n".join(parts)


def missed(results: dict[str, Any]) -> list[str]:
    """What must hold, as sentences where it does not."""
    wrong = []
    for x in results["types"]:
        name = f"{x['model']} in {x['dtype']}"
        if x["answered"] < x["facts"] or x["kept"] < x["of_kept"]:
            wrong.append(f"{name}: not every fact is answered, or a kept position differs")
        if x["facts"] < 0.95 * (x["asked"] - x["conflicts"]):
            wrong.append(f"{name}: fewer than 95 % of the facts were taught")
    if not (results.get("sequential") or {"same": True})["same"]:
        wrong.append("batches give other bytes than all at once")
    return wrong
