"""generate: datasets to try, written to a file."""

import functools
import inspect
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from ..data import corpora, generate
from ..errors import ByheartError
from ..machine.files import refuse_existing
from ..machine.watch import SILENT, Watch
from ..theory.madden2024.adversarial import adversarial, theorem
from .options import Force, Json, MethodOptions, Seed, beginning, option, spread
from .output import finish, number, rows
from .progress import watching

MAKERS: dict[str, Callable] = {**generate.KINDS, "adversarial": adversarial}  # of labelled data
OPTIONS = tuple(
    option(None, kind | None, name, help)
    for kind, name, help in (
        (int, "sequences", "Number of sequences [1000]."),
        (
            int,
            "length",
            "Tokens per sequence [4; multisets: at most 7; uniform: 32; zipf, prefix-tree: 10].",
        ),
        (int, "dimension", "Coordinates per token [2]."),
        (int, "labels", "Number of labels [2]."),
        (
            int,
            "vocabulary",
            "Tokens to draw from (zipf, prefix-tree: 50000; uniform: 64; adversarial: 5).",
        ),
        (str, "skew", "Of the labels: uniform, zipf or geometric."),
        (float, "exponent", "Probabilities fall as 1 / rank^EXPONENT (zipf: 1; prefix-tree: 2)."),
        (int, "branching", "prefix-tree: tokens that may follow a beginning [16]."),
        (int, "heads", "adversarial: heads of the decoder [1]."),
        (int, "head-dimension", "adversarial: head dimension of the decoder (its dimension)."),
        (int, "neurons", "adversarial: neurons of the decoder [4]."),
        (int, "subjects", "unlearning: what facts are about [50]."),
        (int, "relations", "unlearning: facts of each subject [4]."),
        (int, "objects", "unlearning: what answers are drawn from [20]."),
        (int, "forgotten", "unlearning: facts to forget [10]."),
        (int, "edited", "unlearning: facts to edit [10]."),
    )
)
PACK = "unlearning"  # a folder of models, not a dataset
PACK_SIZES = ("subjects", "relations", "objects", "forgotten", "edited", "seed")
TEXT = {"unit": "wordpunct", "documents": "line"}  # how a corpus in a .txt file is read


@functools.partial(spread, place="chosen", options=OPTIONS)
def command(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="random, tokens, multisets, uniform, adversarial, zipf, prefix-tree or unlearning",
            autocompletion=beginning((*MAKERS, *corpora.CORPORA, PACK)),
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help=".jsonl or .npz; zipf, prefix-tree: .bin or .txt; unlearning: a new folder",
        ),
    ],
    chosen: MethodOptions,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
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
    with watching() as watch:
        if kind == PACK:
            answer = packed(output, watch=watch, **chosen, seed=seed)
        else:
            answer = written(kind, output, force=force, watch=watch, **chosen, seed=seed)
    finish(answer, json, pack_view if kind == PACK else view)
    if "loading" in answer and not json:
        how = " ".join(f"--{name} {value}" for name, value in answer["loading"].items())
        print(f"\ncount it: byheart stats {shlex.quote(str(output))} {how}")


def packed(output: Path, *, watch: Watch = SILENT, **options: Any) -> dict:
    """Write the pack; options left None keep their defaults."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in PACK_SIZES:
            sizes = ", ".join(f"--{size}" for size in PACK_SIZES)
            flag = f"--{name.replace('_', '-')}"
            raise ByheartError(f"{PACK} takes no {flag}; it takes {sizes}.")
    from ..compiler.unlearning import unlearning  # it compiles models

    return {"kind": PACK, **unlearning(output, watch=watch, **given)}


def pack_view(answer: dict) -> RenderableType:
    same = "the weights of forgotten/ and retained/ are the same bytes"
    counted = f"{number(answer['forgotten'])} to forget, {number(answer['edited'])} to edit"
    sizes = ", ".join(f"{name} {number(x)}" for name, x in answer["parameters"].items())
    lines = [("facts", number(answer["facts"]), counted), ("parameters", "", sizes)]
    if answer["forgotten_is_retained"]:
        lines.append(("proof", "", same))
    return rows(
        [*lines, ("written", "", f"to {answer['folder']}; its README.md says what is in it")]
    )


def written(
    kind: str, output: Path, *, force: bool = False, watch: Watch = SILENT, **options: Any
) -> dict:
    """Write a dataset of one of the papers' kinds; options left None keep their defaults."""
    labelled = kind in MAKERS
    if not labelled and kind not in corpora.CORPORA:
        names = ", ".join([*MAKERS, *corpora.CORPORA, PACK])
        raise ByheartError(f"there is no kind {kind!r}; there are: {names}.")
    endings = generate.WRITERS if labelled else corpora.EXTENSIONS
    if output.suffix.lower() not in endings:
        raise ByheartError(f"{output}: the name must end in one of {' '.join(endings)}.")
    refuse_existing(output, force)
    make = MAKERS[kind] if labelled else corpora.CORPORA[kind]
    takes = inspect.signature(make)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in takes.parameters:
            flags = [f"--{x.replace('_', '-')}" for x in (name, *takes.parameters)]
            raise ByheartError(f"{kind} takes no {flags[0]}; it takes {', '.join(flags[1:])}.")
    bound = takes.bind(**given)
    bound.apply_defaults()
    used = dict(bound.arguments)
    watch.stage("generating")
    made: Any = make(**used)
    watch.stage("writing")
    answer: dict[str, Any] = {"kind": kind, "file": str(output), "options": used}
    if labelled:
        generate.save(made, output)
        answer |= {
            "sequences": len(made),
            "length": made.length,
            "vocabulary": len(made.tokens),
            "labels": len(made.label_names),
            "sha256": made.sha256(),
        }
        if kind == "adversarial":  # the decoder that cannot memorise the data (Theorem 1)
            sizes = {name: value for name, value in used.items() if name != "seed"}
            sizes["head_dimension"] = sizes["head_dimension"] or sizes["dimension"]
            parameters, found = theorem(**sizes)
            answer["theorem"] = {"parameters": parameters, **found._asdict()}
        return answer
    corpora.save(made, output)
    tokens = made.ids.reshape(used["sequences"], -1)
    stored = {"dtype": str(tokens.dtype), "separator": made.separator}
    return answer | {
        "sequences": len(tokens),
        "length": tokens.shape[1] - 1,
        "vocabulary": corpora.distinct(tokens[:, :-2]),
        "labels": corpora.distinct(tokens[:, 1:-1]),
        "loading": stored if output.suffix.lower() == ".bin" else TEXT,
        "sha256": corpora.sha256(made),
    }


def view(answer: dict) -> RenderableType:
    about = f"{answer['kind']}, length {answer['length']}"
    lines = [
        ("sequences", number(answer["sequences"]), about),
        ("vocabulary", number(answer["vocabulary"]), ""),
        ("labels", number(answer["labels"]), ""),
    ]
    found = answer.get("theorem")
    if found is not None:  # the decoder that cannot memorise the data
        full = f"of {number(found['length'])} tokens, each followed by every token"
        fails = "of the decoder that cannot fit them, almost surely"
        limit = f"Theorem 1 allows {number(found['limit'])}"
        lines.append(("contexts", number(found["contexts"]), limit))
        lines.append(("interpolated", number(found["interpolated"]), full))
        lines.append(("parameters", number(found["parameters"]), fails))
    return rows(lines)
