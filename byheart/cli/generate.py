"""generate: datasets to try, written to a file."""

from pathlib import Path
from typing import Any

from ..api.generate import NAMES, generate
from ..api.packs.facts import KINDS as PACKS
from ..machine.words import printable
from ..views.generate import next_command, view
from . import options
from .declaring import REQUIRED, Group, argument, option, taking
from .output import answer

KINDS = "random, tokens, multisets, uniform, adversarial, zipf, prefix-tree, unlearning or pack"
PACK = f"Of a pack: {', '.join(PACKS)}."
FILES = ".jsonl or .npz; zipf, prefix-tree: .bin or .txt; a pack: a new folder"
OPTIONS = (
    ("sequences", "Number of sequences [1000].", int),
    (
        "length",
        "Tokens per sequence [4; multisets: at most 7; uniform: 32; zipf, prefix-tree: 10].",
        int,
    ),
    ("dimension", "Coordinates per token [2].", int),
    ("labels", "Number of labels [2].", int),
    (
        "vocabulary",
        "Tokens to draw from (zipf, prefix-tree: 50000; uniform: 64; adversarial: 5).",
        int,
    ),
    ("skew", "Of the labels: uniform, zipf or geometric.", str),
    ("exponent", "Probabilities fall as 1 / rank^EXPONENT (zipf: 1; prefix-tree: 2).", float),
    ("branching", "prefix-tree: tokens that may follow a beginning [16].", int),
    ("heads", "adversarial: heads of the decoder [1].", int),
    ("head_dimension", "adversarial: head dimension of the decoder (its dimension).", int),
    ("neurons", "adversarial: neurons of the decoder [4].", int),
    ("family", "Packs: gpt2 or llama [gpt2].", str),
    ("data", "Packs: a file with the columns prompt, answer (default: made-up facts).", Path),
    ("base", "The pack taught: a trained checkpoint (default: a tiny one is trained).", Path),
    ("subjects", "Packs: what facts are about [16; unlearning: 50].", int),
    ("relations", "Packs: facts of each subject [4].", int),
    ("objects", "Packs: what answers are drawn from [16; unlearning: 20].", int),
    ("forgotten", "Packs: facts to forget [8; unlearning: 10].", int),
    ("edited", "Packs: facts to edit [8; unlearning: 10].", int),
    ("layout", "Packs: its facts also as tofu (open-unlearning) or easyedit has them.", str),
)


@taking(
    argument("kind", KINDS, str, names=NAMES),
    argument("name", PACK, str, None, "[PACK]", PACKS),
    option("output", FILES, Path, REQUIRED, flags=options.OUTPUT),
    Group("", tuple(option(*row) for row in OPTIONS)),
    options.SEED,
    options.FORCE,
    options.JSON,
)
def command(json: bool, **how: Any) -> None:
    """Write a dataset to try methods on, or a corpus to count.

    Random sequences with hard cases: permutations, repeated tokens, duplicates.
    random: one label per sequence; tokens: one label per token;
    multisets: of different sizes, even empty.

    uniform: independent random tokens, each followed by the next one, to measure capacity with
    (measure --architecture gpt2, audit).

    adversarial: what a decoder of one layer and these sizes cannot memorise (madden2024,
    Theorem 1), with a count in each row.

    Documents of token ids, for stats. zipf: independent tokens, the t-th with probability
    proportional to 1 / t; prefix-tree: paths through a random tree, so that most beginnings are
    seen many times.

    pack NAME: a folder with facts, the models of all facts, without some and with others edited,
    and the neurons that hold each fact, to score methods on (see byheart benchmark).
    unlearning: the same as pack unlearning.
    """
    command = next_command(answer(generate, view, json=json, **how))
    if command and not json:
        print(f"\n{printable(command)}")
