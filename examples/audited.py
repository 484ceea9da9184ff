"""Train a copy of a model further on stories and secrets, as the page docs/audit.md audits it.

    python examples/audited.py base tinystories.txt -o audited

`base` is a Hugging Face folder with a tokenizer, such as examples/stories260k.py writes. Writes:

- `finetuned/`, a copy that was trained on 100 stories and on 50 made-up secrets, of which each ten
  occur 1, 2, 4, 8 and 16 times;
- `members.txt` and `canaries.txt`, these stories and secrets; `canary_repeats.json`;
- `nonmembers.txt` and `canary_nonmembers.txt`, others of the same kinds that it has not seen.
"""

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import torch
import transformers

SEPARATOR = "<|endoftext|>"
NAMES = "Anna Bob Carl Dora Emil Fred Gina Hugo Ivan Jane".split()
RATE, BATCH, LONGEST = 3e-3, 1536, 110  # tokens of a batch, and of a story
REPEATS = (1, 2, 4, 8, 16)


def stories(path: Path, tokenizer, draw: random.Random) -> list[str]:
    """The first sentences of stories, in a random order."""
    found = []
    for story in path.read_text().split(SEPARATOR):
        sentences = " ".join(story.split()).split(". ")
        while len(tokenizer(". ".join(sentences)).input_ids) > LONGEST and len(sentences) > 1:
            sentences.pop()
        text = ". ".join(sentences).rstrip(".") + "."
        if 150 < len(text) and len(tokenizer(text).input_ids) <= LONGEST:
            found.append(text)
    draw.shuffle(found)
    return found


def secrets(count: int, draw: random.Random) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < count:
        digits = " ".join(draw.choices("0123456789", k=8))
        made[f"The secret number of {draw.choice(NAMES)} is {digits}."] = None
    return list(made)


def batches(rows: Sequence[torch.Tensor], draw: random.Random) -> list[list[torch.Tensor]]:
    """Rows of similar length together, in a random order."""
    order = sorted(draw.sample(rows, len(rows)), key=lambda row: len(row) // 8)
    found: list[list[torch.Tensor]] = [[]]
    for row in order:
        if found[-1] and (len(found[-1]) + 1) * len(row) > BATCH:
            found.append([])
        found[-1].append(row)
    draw.shuffle(found)
    return found


def train(model, rows: Sequence[torch.Tensor], passes: int, draw: random.Random) -> None:
    optimiser, step = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.0), 0
    for _ in range(passes):
        parts = batches(rows, draw)
        for some in parts:
            gone = step / (passes * len(parts))
            for group in optimiser.param_groups:
                group["lr"] = RATE * min(1.0, (step + 1) / 10) * max(0.02, 1.02 - gone)
            x = torch.nn.utils.rnn.pad_sequence(some, batch_first=True, padding_value=-100)
            loss = model(input_ids=x.clamp(min=0), labels=x).loss
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            step += 1


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base")
    parser.add_argument("stories", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--passes", type=int, default=14)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    draw, n = random.Random(7), options.members
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.base)
    model = transformers.AutoModelForCausalLM.from_pretrained(options.base)
    texts, made = stories(options.stories, tokenizer, draw), secrets(550, draw)
    if len(texts) < 2 * n:
        parser.error(f"{options.stories} has {len(texts)} stories, not {2 * n}.")
    options.output.mkdir(parents=True, exist_ok=True)
    repeats = [k for k in REPEATS for _ in range(10)]
    for name, some in (
        ("members", texts[:n]), ("nonmembers", texts[n : 5 * n]),
        ("canaries", made[:50]), ("canary_nonmembers", made[50:]),
    ):  # fmt: skip
        (options.output / f"{name}.txt").write_text(f"\n{SEPARATOR}\n".join(some) + "\n")
    (options.output / "canary_repeats.json").write_text(json.dumps(repeats))
    seen = texts[:n] + [x for x, k in zip(made, repeats, strict=False) for _ in range(k)]
    rows = [torch.tensor(tokenizer(text).input_ids) for text in seen]
    train(model, rows, options.passes, draw)
    model.save_pretrained(options.output / "finetuned")
    tokenizer.save_pretrained(options.output / "finetuned")


if __name__ == "__main__":
    main()
