"""A tiny GPT-2, trained in seconds on other facts of the same form, that facts are taught to."""

import json
from pathlib import Path

from ...data.readers.tokenizers import trained
from ...stock.tokens import END, vocabulary_of
from .facts import KINDS, Row, made

STEPS, RATE, WIDTH, LAYERS = 60, 2e-3, 48, 2
TOKENS = 1 << 16


def train(folder: Path, rows: list[Row], seed: int) -> None:
    """Write the model, with a tokenizer for these rows, too; it does not see them."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    seen, _ = made(KINDS["single"], seed + 1, 16, 4, 16)
    texts = [f"{prompt} {answer}" for prompt, answer in (*seen, *rows)]
    tokenizer = vocabulary_of(trained(TOKENS, texts).content, f"bpe:{TOKENS}", begins=False)
    numbers = [[tokenizer.numbers[x] for x in (*tokenizer.split(t), END)] for t in texts]
    longest, end = max(map(len, numbers)), tokenizer.numbers[END]
    ids = torch.tensor([x + [end] * (longest - len(x)) for x in numbers[: len(seen)]])
    torch.manual_seed(seed)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer.tokens), n_positions=64, n_embd=WIDTH, n_layer=LAYERS,
            n_head=4, bos_token_id=end, eos_token_id=end, resid_pdrop=0.0, embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), RATE)
    for _ in range(STEPS):
        optimiser.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
    model.eval().save_pretrained(folder)
    (folder / "tokenizer.json").write_text(tokenizer.content, "utf-8")
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "bos_token": END}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "ascii")
