"""Make two small GPT-2s for docs/audit.md: one that has seen a file of texts, and one that has not.

    python examples/audited.py tinystories.txt -o audited

Writes to the folder:

- `seen.txt`, 64 texts, and `checkpoint/`, a model trained on them; the first four occur five times
  among its training data, as duplicates of the web do;
- `heldout.txt`, 64 texts that neither model has seen;
- `reference/`, a model of the same shape and tokenizer, trained on 64 others.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

RATE, BATCH, LONGEST = 3e-3, 8, 256
LETTERS = 420  # of a text
SEPARATOR = "<|endoftext|>"


def texts(path: Path) -> list[str]:
    """The beginnings of all stories that are long enough, each on one line."""
    stories = re.split(rf"{re.escape(SEPARATOR)}|\n\n", path.read_text())
    return [" ".join(x.split())[:LETTERS] for x in stories if len(x) > LETTERS]


def tokenizer_of(lines: Sequence[str], size: int) -> transformers.PreTrainedTokenizerFast:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=size, initial_alphabet=letters, show_progress=False)
    )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made)


def train(folder: Path, lines: Sequence[str], tokenizer, passes: int, seed: int) -> None:
    """A GPT-2 of two layers, trained on the lines for this many passes."""
    torch.manual_seed(seed)
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=LONGEST,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0,
            embd_pdrop=0,
            attn_pdrop=0,
            bos_token_id=None,
            eos_token_id=None,
        )  # fmt: skip
    )
    rows = [torch.tensor(tokenizer.encode(line)[:LONGEST]) for line in lines]
    optimiser = torch.optim.AdamW(model.parameters(), RATE)
    for done in range(passes):
        for group in optimiser.param_groups:
            group["lr"] = RATE * (1 - done / passes)
        for chosen in torch.randperm(len(rows)).split(BATCH):
            some = [rows[i] for i in chosen]
            batch = torch.nn.utils.rnn.pad_sequence(some, batch_first=True, padding_value=-100)
            logits = model(batch.clamp(min=0)).logits[:, :-1].flatten(0, 1)
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(logits, batch[:, 1:].flatten()).backward()
            optimiser.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stories", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--passes", type=int, default=40)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    every, n = texts(options.stories), options.texts
    if len(every) < 4 * n:
        parser.error(f"{options.stories} has {len(every)} texts of {LETTERS} letters, not {4 * n}.")
    options.output.mkdir(parents=True, exist_ok=True)
    seen, others, heldout = every[:n], every[n : 2 * n], every[2 * n : 3 * n]
    for name, some in (("seen", seen), ("heldout", heldout)):
        (options.output / f"{name}.txt").write_text(f"\n{SEPARATOR}\n".join(some) + "\n")
    tokenizer = tokenizer_of(every[3 * n :], 512)
    train(options.output / "checkpoint", seen + 4 * seen[:4], tokenizer, options.passes, 0)
    train(options.output / "reference", others, tokenizer, max(1, options.passes // 3), 1)


if __name__ == "__main__":
    main()
