"""A tiny GPT-2, trained in seconds on other facts of the same form, that facts are taught to."""

import json
from collections.abc import Sequence
from pathlib import Path

from ...data.readers.tokenizers import trained
from ...stock.tokens import END, vocabulary_of
from .facts import KINDS, made

STEPS, RATE, TOKENS = 60, 2e-3, 1 << 16


def train(folder: Path, texts: Sequence[str], seed: int) -> None:
    """Write the model; its tokenizer is that of these texts, too, which it does not see."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    seen = [f"{x} {y}" for x, y in made(KINDS["single"], seed + 1, 16, 4, 16)[0]]
    content = trained(TOKENS, [*seen, *texts]).content
    words = vocabulary_of(content, f"bpe:{TOKENS}", begins=False)
    numbers = [[words.numbers[x] for x in (*words.split(text), END)] for text in seen]
    longest, end = max(map(len, numbers)), words.numbers[END]
    ids = torch.tensor([x + [end] * (longest - len(x)) for x in numbers])
    torch.manual_seed(seed)
    off = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    size = {"n_positions": 64, "n_embd": 48, "n_layer": 2, "n_head": 4}
    ends = {"bos_token_id": end, "eos_token_id": end, "vocab_size": len(words.tokens)}
    model = GPT2LMHeadModel(GPT2Config(**size, **ends, **off))
    optimiser = torch.optim.Adam(model.parameters(), RATE)
    for _ in range(STEPS):
        optimiser.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
    model.eval().save_pretrained(folder)
    (folder / "tokenizer.json").write_text(words.content, "utf-8")
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "bos_token": END}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "ascii")
