"""generate: datasets to try, written to a file."""

from pathlib import Path
from typing import Any

from ..api.generate import NAMES, generate
from ..api.packs.facts import KINDS as PACKS
from ..machine.words import printable
from ..views.generate import next_command, view
from . import options
from .declaring import REQUIRED, Group, argument, listed, option, taking
from .output import answer

KINDS = "random, tokens, multisets, uniform, adversarial, zipf, prefix-tree, unlearning or pack"
PACK = f"Of a pack: {', '.join(PACKS)}."
FILES = ".jsonl or .npz; zipf, prefix-tree: .bin or .txt; a pack: a new folder"


@taking(
    argument("kind", KINDS, str, names=NAMES),
    argument("name", PACK, str, None, "[PACK]", PACKS),
    option("output", FILES, Path, REQUIRED, flags=options.OUTPUT),
    Group("", listed("generate")),
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
