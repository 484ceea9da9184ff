"""generate: datasets to try, written to a file."""

from pathlib import Path
from typing import Any

from ..api.generate import NAMES, generate
from ..machine.words import printable
from ..views.generate import next_command, view
from . import options
from .declaring import REQUIRED, Group, argument, option, taking
from .output import answer

KINDS = "random, tokens, multisets, uniform, adversarial, zipf, prefix-tree or unlearning"
FILES = ".jsonl or .npz; zipf, prefix-tree: .bin or .txt; unlearning: a new folder"
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
    ("subjects", "unlearning: what facts are about [50].", int),
    ("relations", "unlearning: facts of each subject [4].", int),
    ("objects", "unlearning: what answers are drawn from [20].", int),
    ("forgotten", "unlearning: facts to forget [10].", int),
    ("edited", "unlearning: facts to edit [10].", int),
)


@taking(
    argument("kind", KINDS, str, names=NAMES),
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

    unlearning: a folder with facts, the models of all facts, without some and with others edited,
    and the parameters that hold each fact, to score unlearning and editing methods on.
    """
    command = next_command(answer(generate, view, json=json, **how))
    if command and not json:
        print(f"\n{printable(command)}")
