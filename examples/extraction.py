"""Greedy extraction and membership inference on a compiled model, where the truth is known.

    python examples/extraction.py [documents.txt] [--documents 60]

The model recites its documents and nothing else. So it is known which of them can be extracted from
their first k tokens (those for which all longer beginnings go on in one way), and which texts are
members:

- extraction (Carlini et al. 2021, 2023): the first k tokens of a document as the prompt, greedy
  `generate()`, and the continuation compared with the document;
- membership inference: scores that should be higher for members. Loss (Yeom et al. 2018): the mean
  log-probability of a token; Min-K% (Shi et al. 2024): the mean of the lowest fifth; neurons: the
  share of tokens at which the neuron of the ground truth is on. AUC 0.5 is guessing, 1 is certain.
  Others are fresh documents from the same source, and members with one word replaced.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import torch
from compiled import LENS, Compiled, recited, table, word

PREFIXES = (1, 2, 4, 8)
LOWEST = 0.2


def documents(count: int, seed: int) -> list[str]:
    """Made-up entries of a register; many begin alike."""
    draw = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        name, place = f"{word(draw, 2)} {word(draw, 3)}", word(draw, 2)
        year, trade = draw.randint(1700, 1899), draw.choice(("miller", "smith", "baker", "tailor"))
        begin = draw.choice(("In the year", "The register of", "On a Monday in"))
        found[
            f"{begin} {year} the {trade} {name} of {place} sold {draw.randint(2, 99)} sheep to "
            f"{word(draw, 3)} and left for {word(draw, 2)}."
        ] = None
    return list(found)


@torch.inference_mode()
def extracted(model: Compiled, tokens: list[int], prefix: int) -> bool:
    """Whether greedy decoding continues the first tokens with the rest of the document."""
    prompt = torch.tensor([tokens[:prefix]])
    said = model.model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=len(tokens) - prefix + 1,
        do_sample=False,
        pad_token_id=model.model.config.eos_token_id,
    )
    return said[0].tolist()[: len(tokens)] == tokens


def extractable(tokens: list[int], prefix: int, following: dict[tuple, set]) -> bool:
    """Whether the data says one thing after each beginning from here on."""
    beginnings = (tuple(tokens[:size]) for size in range(prefix, len(tokens)))
    return all(len(following[beginning]) == 1 for beginning in beginnings)


@torch.inference_mode()
def scores(model: Compiled, tokens: list[int]) -> dict[str, float]:
    """What three attacks say of a text; higher: more likely a member."""
    active = torch.zeros(len(tokens), dtype=torch.bool)

    def read(x: torch.Tensor) -> None:
        nonlocal active
        active = active | (x[0] > 0).any(-1)

    layers = range(len(model.blocks))
    logits = model.run(torch.tensor([tokens]), {("neurons", layer): read for layer in layers})
    chances = logits[:-1].log_softmax(-1)[range(len(tokens) - 1), tokens[1:]]
    lowest = chances.sort().values[: max(1, int(LOWEST * len(chances)))]
    return {
        "loss": float(chances.mean()),
        "Min-K%": float(lowest.mean()),
        "neurons": float(active[:-1].float().mean()),
    }


def area(members: list[float], others: list[float]) -> float:
    """The probability that a member scores higher than another text (half, if equal)."""
    pairs = [(a > b) + (a == b) / 2 for a in members for b in others]
    return sum(pairs) / len(pairs)


def main(arguments: Sequence[str] | None = None) -> dict[str, dict]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, help="one document per line")
    parser.add_argument("--documents", type=int, default=60, help="how many are made up")
    parser.add_argument("--layers", type=int, default=4)
    given = parser.parse_args(arguments)
    texts = documents(2 * given.documents, seed=0)
    if given.data is not None:
        texts = list(dict.fromkeys(filter(None, given.data.read_text().splitlines())))
        given.documents = len(texts) // 2
    members, fresh = texts[: given.documents], texts[given.documents :]
    model = recited(members, given.layers)
    longest = model.model.config.n_positions

    def numbers(text: str) -> list[int]:
        return model.tokenizer(text).input_ids[:longest]

    own = [numbers(text) for text in members]
    following: dict[tuple, set] = {}
    for tokens in own:
        for size in range(1, len(tokens)):
            following.setdefault(tuple(tokens[:size]), set()).add(tokens[size])
    found: dict[str, dict] = {"extraction": {}, "membership": {}}
    rows = []
    for prefix in PREFIXES:
        long = [tokens for tokens in own if len(tokens) > prefix]
        got = [extracted(model, tokens, prefix) for tokens in long]
        truth = [extractable(tokens, prefix, following) for tokens in long]
        agree = sum(a == b for a, b in zip(got, truth, strict=True))
        found["extraction"][prefix] = (sum(got), sum(truth), agree, len(long))
        rows.append(
            (f"{prefix}", f"{sum(got)} of {len(long)}", f"{sum(truth)}", f"{agree} of {len(long)}")
        )
    head = ("tokens of the prompt", "extracted whole", "by the data", "the same documents")
    table(head, rows)

    draw = random.Random(1)
    near = []
    for text in members:
        words = text.split(" ")
        at = draw.randrange(len(words) // 2, len(words))
        near.append(" ".join([*words[:at], word(draw, 2), *words[at + 1 :]]))
    inside = [scores(model, tokens) for tokens in own]
    rows = []
    for name, others in (("fresh documents", fresh), ("members, one word replaced", near)):
        outside = [scores(model, numbers(text)) for text in others]
        areas = {
            attack: area([x[attack] for x in inside], [x[attack] for x in outside])
            for attack in inside[0]
        }
        found["membership"][name] = areas
        rows.append((name, *(f"{value:.3f}" for value in areas.values())))
    table(("AUC of members against", *inside[0]), rows)
    if not LENS:
        print("\nTransformerLens is not installed: hooks are those of torch.")
    return found


if __name__ == "__main__":
    main()
