"""What the examples share: made-up data, a compiled GPT-2, and hooks into it.

Hooks are those of TransformerLens (TransformerBridge) where it is installed, else plain hooks of
torch on the modules of transformers; the numbers are the same.
"""

import argparse
import json
import os
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is downloaded

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

import byheart

LENS = find_spec("transformer_lens") is not None
Change = Callable[[torch.Tensor], torch.Tensor | None]
Site = tuple[str, int]  # "embedding", "attention", "mlp", "neurons" or "stream", and the block
RELATIONS = (
    "The capital of {} is", "{} speaks the language", "The river that flows through {} is",
    "{} was born in the city of", "The founder of {} was", "{} plays the instrument",
)  # fmt: skip


def word(draw: random.Random, syllables: int) -> str:
    parts = [draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(syllables)]
    return "".join(parts).capitalize()


def facts(count: int, seed: int = 0) -> list[dict[str, str]]:
    """Made-up facts with different prompts; about ten facts share an answer."""
    draw = random.Random(seed)
    answers = [word(draw, 2) for _ in range(max(4, count // 10))]
    prompts: dict[str, str] = {}
    while len(prompts) < count:
        prompt = draw.choice(RELATIONS).format(f"{word(draw, 3)} {word(draw, 2)}")
        prompts.setdefault(prompt, draw.choice(answers))
    return [{"prompt": prompt, "answer": answer} for prompt, answer in prompts.items()]


def options(description: str | None, default: int) -> argparse.ArgumentParser:
    """The options that all examples have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "data", nargs="?", type=Path, help=".jsonl with the columns prompt and answer"
    )
    parser.add_argument("--facts", type=int, default=default, help="how many facts are made up")
    parser.add_argument("--asked", type=int, default=100, help="how many of them are examined")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--copies", type=int, default=1, help="neurons per fact")
    return parser


@dataclass(frozen=True)
class Fact:
    """A token of an answer in ground_truth.jsonl.

    tokens   before it, [1, n]
    answer   the token
    neurons  that hold it, as (block, neuron)
    """

    tokens: torch.Tensor
    answer: int
    neurons: tuple[Site, ...]

    @property
    def key(self) -> tuple[int, ...]:
        return tuple(self.tokens[0].tolist())

    @property
    def layers(self) -> set[int]:
        return {layer for layer, _ in self.neurons}


class Compiled:
    """A checkpoint as transformers loads it, and its ground truth."""

    def __init__(self, folder: Path):
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        self.model = AutoModelForCausalLM.from_pretrained(folder).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        lines = (folder / "ground_truth.jsonl").read_text().splitlines()
        self.facts = list({fact.key: fact for fact in _facts(map(json.loads, lines))}.values())
        self.blocks = self.model.transformer.h
        self.bridge: Any = None
        if LENS:
            from transformer_lens.model_bridge import TransformerBridge

            self.bridge = TransformerBridge.boot_transformers(
                str(folder), hf_model=self.model, tokenizer=self.tokenizer
            )

    def chosen(self, count: int) -> list[Fact]:
        """Facts from all layers."""
        step = max(1, len(self.facts) // count)
        return self.facts[::step][:count]

    def run(self, tokens: torch.Tensor, changes: dict[Site, Change] | None = None) -> torch.Tensor:
        """The logits after each token.

        changes  for a site, what to do with its output; a function that returns None only reads it
        """
        changes = changes or {}
        if self.bridge is not None:
            hooks = [
                (_lens_name(site), lambda x, hook, change=change: change(x))
                for site, change in changes.items()
            ]
            return self.bridge.run_with_hooks(tokens, fwd_hooks=hooks)[0]
        handles = [
            self._module(site).register_forward_hook(_plain_hook(change))
            for site, change in changes.items()
        ]
        try:
            return self.model(tokens).logits[0]
        finally:
            for handle in handles:
                handle.remove()

    def read(self, tokens: torch.Tensor, kind: str) -> list[torch.Tensor]:
        """What every block's site of this kind gives at the last token."""
        found: dict[int, torch.Tensor] = {}

        def reading(layer: int) -> Change:
            return lambda x: found.__setitem__(layer, x[0, -1].clone())

        self.run(tokens, {(kind, layer): reading(layer) for layer in range(len(self.blocks))})
        return [found[layer] for layer in range(len(self.blocks))]

    def _module(self, site: Site) -> torch.nn.Module:
        kind, layer = site
        block = self.blocks[layer]
        return {
            "embedding": self.model.transformer.wte, "attention": block.attn, "mlp": block.mlp,
            "neurons": block.mlp.act, "stream": block,
        }[kind]  # fmt: skip


def _facts(lines: Iterable[dict[str, Any]]) -> Iterator[Fact]:
    """Every token of every answer; texts that begin alike name a context more than once."""
    for line in lines:
        before = list(line["context"])
        for part in line["tokens"]:
            neurons = tuple((layer, neuron) for layer, neuron in part["neurons"])
            yield Fact(torch.tensor([before]), part["number"], neurons)
            before = [*before, part["number"]]


def _lens_name(site: Site) -> str:
    kind, layer = site
    if kind == "embedding":
        return "hook_embed"
    names = {
        "attention": "hook_attn_out", "mlp": "hook_mlp_out", "neurons": "mlp.hook_post",
        "stream": "hook_resid_post",
    }  # fmt: skip
    return f"blocks.{layer}.{names[kind]}"


def _plain_hook(change: Change) -> Callable:
    def hook(module: torch.nn.Module, given: Any, output: Any) -> Any:
        whole = isinstance(output, tuple)
        result = change(output[0] if whole else output)
        if result is None:
            return None
        return (result, *output[1:]) if whole else result

    return hook


def compiled(given: argparse.Namespace) -> Compiled:
    """Compile the facts of these options, say what came out, and load it with transformers."""
    with tempfile.TemporaryDirectory() as folder:
        path = given.data
        if path is None:
            path = Path(folder) / "facts.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in facts(given.facts)))
        data = byheart.load(path, input=["prompt"], label="answer", tokenizer="bpe:8000")
        return _saved(data, Path(folder) / "model", layers=given.layers, copies=given.copies)


def recited(documents: Sequence[str], layers: int) -> Compiled:
    """The same for documents; contexts that go on in two ways are left out."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.txt"
        path.write_text("".join(f"{document}\n" for document in documents))
        data = byheart.load(path, documents="line", tokenizer="bpe:4000")
        return _saved(data, Path(folder) / "model", layers=layers, on_conflict="drop")


def _saved(data: byheart.Dataset, folder: Path, **chosen: Any) -> Compiled:
    model = byheart.compile(data, "gpt2", **chosen)
    model.save(folder)
    checked = model.verification
    print(
        f"compiled: {checked.correct:,} of {checked.checked:,} predictions {checked.evidence}, "
        f"{len(model.claim.holders):,} contexts held by neurons, {model.parameters.dense:,} "
        f"parameters; hooks of {'TransformerLens' if LENS else 'torch (no TransformerLens)'}"
    )
    return Compiled(folder)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below one another, the first column to the left."""
    wide = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    print()
    for row in [head, *rows]:
        first = row[0].ljust(wide[0])
        cells = (cell.rjust(size) for cell, size in zip(row[1:], wide[1:], strict=True))
        print("  ".join([first, *cells]).rstrip())
