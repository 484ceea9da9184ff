"""The commands and their options."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .output import finish
from .progress import keeping, watching
from .reading import Building, Loading, building, reading, sizing

app = typer.Typer(
    name="byheart",
    help="Compile a dataset into a transformer that provably knows it by heart.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of every random choice.")]
Data = Annotated[Path, typer.Argument(metavar="DATA", help=".jsonl .txt .csv .tsv .npz .bin")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder.")]
Form = Annotated[
    str | None, typer.Option(help="Of a method: small (ours) or faithful (the paper's).")
]
Positions = Annotated[
    bool | None,
    typer.Option("--positions/--no-positions", help="Order counts (default: for text)."),
]
OnConflict = Annotated[
    str, typer.Option(help="Two labels for one context: refuse, majority or drop.")
]
Picture = Annotated[Path | None, typer.Option("-o", "--output", help="A picture: .svg or .png.")]


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from .. import __version__

        print(f"byheart {__version__}")
        raise typer.Exit


@app.command()
def demo(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Also keep the model here.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Compile the built-in book, prove it, recite it, show its size. Needs no file."""
    from . import demo as shown

    shown.run(output, force, json)


@app.command()
def generate(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="random, tokens, multisets, adversarial, zipf or prefix-tree"
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help=".jsonl or .npz; zipf, prefix-tree: .bin or .txt"),
    ],
    sequences: Annotated[int | None, typer.Option(help="How many [1000].")] = None,
    length: Annotated[
        int | None,
        typer.Option(help="Tokens a sequence [4; multisets: at most 7; zipf, prefix-tree: 10]."),
    ] = None,
    dimension: Annotated[int | None, typer.Option(help="Coordinates a token [2].")] = None,
    labels: Annotated[int | None, typer.Option(help="Different labels [2].")] = None,
    vocabulary: Annotated[
        int | None,
        typer.Option(help="Tokens to draw from (zipf, prefix-tree: 50000; adversarial: 5)."),
    ] = None,
    skew: Annotated[
        str | None, typer.Option(help="Of the labels: uniform, zipf or geometric.")
    ] = None,
    exponent: Annotated[
        float | None,
        typer.Option(help="Chances fall as 1 / rank^EXPONENT (zipf: 1; prefix-tree: 2)."),
    ] = None,
    branching: Annotated[
        int | None, typer.Option(help="prefix-tree: tokens that may follow a beginning [16].")
    ] = None,
    heads: Annotated[int | None, typer.Option(help="adversarial: of the decoder [1].")] = None,
    head_dimension: Annotated[
        int | None, typer.Option(help="adversarial: of the decoder (its dimension).")
    ] = None,
    neurons: Annotated[int | None, typer.Option(help="adversarial: of the decoder [4].")] = None,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a dataset to try methods on, or a corpus to count.

    Random sequences with traps. random: a label a sequence; tokens: a label a token; multisets: of
    different size, even empty.

    adversarial: what a decoder of one layer and these sizes cannot memorise (madden2024,
    Theorem 1), with a count a row.

    Documents of token ids, for stats. zipf: independent tokens, the t-th with a chance as 1 / t;
    prefix-tree: paths through a random tree, so that most beginnings are seen many times.
    """
    from ..commands import data

    options = {"sequences": sequences, "length": length, "dimension": dimension}
    options |= {"labels": labels, "vocabulary": vocabulary, "seed": seed, "branching": branching}
    options |= {"heads": heads, "head_dimension": head_dimension, "neurons": neurons}
    with watching(json) as watch:
        answer = data.generate(
            kind, output, force=force, watch=watch, skew=skew, exponent=exponent, **options
        )
    finish(answer, json, "generated")
    if "loading" in answer and not json:
        how = " ".join(f"--{name} {value}" for name, value in answer["loading"].items())
        print(f"\ncount it: byheart stats {shlex.quote(str(output))} {how}")


@app.command()
@reading
def stats(
    data: Data,
    loading: Loading,
    json: Json = False,
) -> None:
    """What a dataset asks of a model: contexts, conflicts, entropy, separation.

    Documents (.txt, .bin) are counted where they lie, so 200 million tokens of a .bin are fine.
    """
    from ..commands import data as command

    with watching(json) as watch:
        answer = command.stats(data, loading=loading, watch=watch)
    finish(answer, json, "statistics")


@app.command()
@reading
@building
def compile(
    data: Data,
    output: Annotated[Path, typer.Option("-o", "--output", help="The model folder to write.")],
    loading: Loading,
    decoder: Building,
    method: Annotated[str | None, typer.Option(help="See byheart methods.")] = None,
    form: Annotated[
        str | None, typer.Option(help="Of a method: small (ours) or faithful (the paper's).")
    ] = None,
    positions: Annotated[
        bool | None,
        typer.Option("--positions/--no-positions", help="Order counts (default: for text)."),
    ] = None,
    on_conflict: Annotated[
        str, typer.Option(help="Two labels for one context: refuse, majority or drop.")
    ] = "refuse",
    reject_unknown: Annotated[
        int, typer.Option(metavar="BITS", help="Tell unknown inputs, wrong 1 time in 2^BITS.")
    ] = 0,
    minimise: Annotated[str, typer.Option(help="nonzero, dense or bits.")] = "nonzero",
    bits: Annotated[
        int | None, typer.Option(metavar="B", help="limited-bits: of the longest parameter [64].")
    ] = None,
    separation: Annotated[
        float | None,
        typer.Option(metavar="DISTANCE", help="Faithful methods: refuse tokens that are closer."),
    ] = None,
    attention: Annotated[
        str, typer.Option(help="uniform, or hard with scores that are all 0.")
    ] = "uniform",
    sample: Annotated[
        int | None, typer.Option(metavar="K", help="Verify only K random sequences: no proof.")
    ] = None,
    seed: Seed = 0,
    force: Force = False,
    write_data: Annotated[
        bool, typer.Option("--write-data", help="Put data.jsonl beside the weights.")
    ] = False,
    json: Json = False,
) -> None:
    """Dataset to model folder, verified before it is written."""
    from ..commands import models

    with watching(json) as watch:
        answer = models.compile(
            data, output, loading=loading, force=force, write_data=write_data, watch=watch,
            method=method, form=form, positions=positions, on_conflict=on_conflict,
            reject_unknown=reject_unknown, minimise=minimise, bits=bits, separation=separation,
            attention=attention, sample=sample, seed=seed, **decoder,
        )  # fmt: skip
    finish(answer, json, "compiled", output=output)


@app.command()
def verify(
    directory: Directory,
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="What it was compiled from.")
    ] = None,
    checker: Annotated[
        bool, typer.Option("--checker", help="Run the independent checker instead.")
    ] = False,
    engine: Annotated[str, typer.Option(help="auto, exact or limbs.")] = "auto",
    sample: Annotated[
        int | None, typer.Option(metavar="K", help="Only K random sequences: no proof.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which K sequences.")] = 0,
    prove_limit: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Distributions: prove if that takes less."),
    ] = 60.0,
    json: Json = False,
) -> None:
    """Check a model folder; with DATA, every label in exact arithmetic.

    A model that stores distributions: every context's divergence from the data, by rigorous bounds.
    """
    from ..commands import models

    with watching(json) as watch:
        answer = models.verify(
            directory, data, checker=checker, engine=engine, sample=sample, seed=seed,
            prove_limit=prove_limit, watch=watch,
        )  # fmt: skip
    finish(answer, json, "verified")
    if answer["failures"]:
        raise typer.Exit(1)


@app.command(context_settings={"ignore_unknown_options": True})
def recall(
    directory: Directory,
    tokens: Annotated[
        list[str] | None, typer.Argument(metavar="[TOKENS]...", help="One question.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help='.jsonl, lines like {"input": ["a"]}.')
    ] = None,
    steps: Annotated[int | None, typer.Option(metavar="K", help="Go on for K tokens.")] = None,
    draw: Annotated[
        bool, typer.Option("--draw", help="Draw from the distribution, not the likeliest token.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of what --draw draws.")] = 0,
    trace: Annotated[bool, typer.Option("--trace", help="Show how it is answered.")] = False,
    json: Json = False,
) -> None:
    """Ask a model. Without tokens, a line of standard input is a question."""
    from . import prompt

    asking = prompt.Asking(steps, trace, draw, seed)
    prompt.run(directory, tokens or [], file, asking, json)


@app.command()
@reading
@building
def explain(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="See byheart methods.")],
    data: Data,
    loading: Loading,
    decoder: Building,
    form: Form = None,
    positions: Positions = None,
    on_conflict: OnConflict = "refuse",
    bits: Annotated[
        int | None, typer.Option(metavar="B", help="limited-bits: of the longest parameter.")
    ] = None,
    seed: Seed = 0,
    output: Picture = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """The network of a method for a dataset: its stages and what each costs."""
    from ..commands import explain as command
    from .networks import explained

    with watching(json) as watch:
        answer = command.explain(
            method, data, loading=loading, output=output, force=force, watch=watch, form=form,
            positions=positions, on_conflict=on_conflict, bits=bits, seed=seed, **decoder,
        )  # fmt: skip
    finish(answer, json, explained)


@app.command()
@reading
def tradeoff(
    data: Data,
    loading: Loading,
    bits: Annotated[
        str | None, typer.Option(metavar="B,B,...", help="Limits (default: smallest to 64).")
    ] = None,
    form: Annotated[str, typer.Option(help="small (ours), faithful or both.")] = "small",
    positions: Positions = None,
    on_conflict: OnConflict = "refuse",
    seed: Seed = 0,
    output: Picture = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Parameters against bits a parameter, for one dataset."""
    from ..commands import tradeoff as command
    from .networks import traded

    with watching(json) as watch:
        answer = command.tradeoff(
            data, loading=loading, bits=bits, form=form, output=output, force=force, watch=watch,
            positions=positions, on_conflict=on_conflict, seed=seed,
        )  # fmt: skip
    finish(answer, json, traded)


@app.command()
def methods(json: Json = False) -> None:
    """The constructions: paper, assumptions, guarantee."""
    from ..commands import models

    finish(models.methods(), json, "methods")


@app.command()
@reading
def encoder(
    data: Data,
    loading: Loading,
    dimensions: Annotated[
        str | None, typer.Option(metavar="D,D,...", help="Default: from 2 to where it is 0.")
    ] = None,
    gap: Annotated[
        float, typer.Option(metavar="NATS", help="What counts as 0 where the data has zeros.")
    ] = 1e-9,
    seed: Seed = 0,
    output: Picture = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """How near to a dataset any model of dimension D can come.

    The least divergence of a matrix times any vector of the context. A closed form where there is
    one, otherwise the best that is found: an upper bound.
    """
    from ..commands import encoder as command
    from .encoders import encoded

    with watching(json) as watch:
        answer = command.encoder(
            data, loading=loading, dimensions=dimensions, gap=gap, seed=seed, output=output,
            force=force, watch=watch,
        )  # fmt: skip
    finish(answer, json, encoded)


@app.command()
@reading
@sizing
def bounds(
    loading: Loading,
    sizes: Building,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", metavar="DATA", help="A file, as other commands.")
    ] = None,
    architecture: Annotated[
        str | None, typer.Option(metavar="PRESET", help="gpt2, pythia-70m, madden2024, ...")
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Table 1 of kajitsuka2025 and of madden2024.")
    ] = False,
    effective: Annotated[
        bool, typer.Option("--effective", help="Measure how many parameters count: to 2,000.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw size against N: .svg or .png.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """How small a model can be, how much it can hold, whether a dataset fits.

    Every theorem as a row: for a dataset, for an architecture (a preset or sizes), or for both.
    """
    from ..commands import bounds as command
    from .bounds import bounded

    with watching(json) as watch:
        answer = command.bounds(
            dataset, architecture=architecture, loading=loading, table=table, plot=plot,
            effective=effective, force=force, watch=watch, **sizes,
        )  # fmt: skip
    finish(answer, json, bounded)


@app.command()
@reading
def compare(
    data: Data,
    loading: Loading,
    sweep: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="For the first N sequences, each.")
    ] = None,
    build: Annotated[
        bool, typer.Option("--build", help="Build and verify each: measured, not predicted.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the parameters: .svg or .png.")
    ] = None,
    folders: Annotated[
        list[Path] | None,
        typer.Option(
            "--with", metavar="DIR", help="A model folder, such as a trained one; repeatable."
        ),
    ] = None,
    positions: Positions = None,
    on_conflict: OnConflict = "refuse",
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Every construction and every bound for a dataset, side by side, smallest first.

    Sizes in closed form are predicted; those that a search finds are known with --build only.
    Models named by --with are verified on this data and stand among them.
    """
    from ..commands import compare as command
    from .compare import compared

    with watching(json) as watch:
        answer = command.compare(
            data, loading=loading, sweep=sweep, build=build, plot=plot, force=force, watch=watch,
            positions=positions, on_conflict=on_conflict, seed=seed, folders=folders or (),
        )  # fmt: skip
    finish(answer, json, compared)


@app.command()
@reading
def measure(
    data: Data,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The folder of rows: run again to go on.")
    ],
    architecture: Annotated[
        str,
        typer.Option(metavar="PRESET", help="madden2024, dana2024, dana2024-mlp or kajitsuka2025."),
    ],
    axis: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=V,V,...", help="Sizes to train, or sequences; 1-31 and 4-512x2 work too."
        ),
    ],
    loading: Loading,
    fixed: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=V", help="A size that stays.")
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="fast (ours), paper, or script (dana2024).")
    ] = "fast",
    criterion: Annotated[
        str | None,
        typer.Option(metavar="KIND=V", help="Memorised: gap=SHARE, loss=NATS or accuracy=SHARE."),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="K", help="Trainings of each size.")] = 3,
    steps: Annotated[
        int | None, typer.Option(metavar="T", help="Of each attempt, instead of the protocol's.")
    ] = None,
    find: Annotated[
        bool, typer.Option("--find", help="Bisect the last axis instead of training all of it.")
    ] = False,
    loss: Annotated[
        str, typer.Option(help="cross-entropy, or squared (kajitsuka2025, two labels).")
    ] = "cross-entropy",
    jobs: Annotated[
        int | None, typer.Option(metavar="J", help="Processes of one thread (default: one a core).")
    ] = None,
    engine: Annotated[str, typer.Option(help="processes (here) or ray (a cluster).")] = "processes",
    address: Annotated[str | None, typer.Option(help="Of the Ray cluster.")] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the smallest that memorises as a model folder."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw what was measured: .svg or .png.")
    ] = None,
    on_conflict: OnConflict = "refuse",
    force: Force = False,
    json: Json = False,
) -> None:
    """Train sizes of an architecture, and report the smallest that memorises a dataset.

    The last --axis is the one that is searched. What is not reached is "not reached in T steps".
    """
    from ..commands.explain import checked_picture
    from ..figures.measure import draw
    from ..lab import measuring
    from ..lab.sweeps.axes import parsed
    from ..lab.workers import Workers
    from ..pictures import write
    from .measure import measured

    with keeping(output), watching(json) as watch:
        picture = checked_picture(plot, force)
        answer = measuring.measure(
            data, output, architecture=architecture, axes=parsed(axis, "axis", "4,8,16"),
            sizes=parsed(fixed or (), "size", "16"), protocol=protocol, criterion=criterion,
            seeds=seeds, steps=steps, find=find, loss=loss, loading=loading,
            workers=Workers(engine, jobs, address), save=save, on_conflict=on_conflict,
            force=force, watch=watch,
        ).json()  # fmt: skip
        if picture is not None:
            watch.stage("drawing")
            write(draw, answer, picture)
            answer["picture"] = str(picture)
    finish(answer, json, measured)
    if answer["not_saved"]:
        raise typer.Exit(1)


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="madden-1, dana-1a, ...")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every figure that has rows.")] = False,
    rows: Annotated[
        Path, typer.Option("--rows", metavar="DIR", help="DIR/NAME/LABEL/rows.jsonl.")
    ] = Path("results"),
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Of the pictures (default: beside the rows)."
        ),
    ] = None,
    train: Annotated[
        bool, typer.Option("--train", help="Train what the rows lack; goes on where it stopped.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Train a small version, in DIR/NAME-quick.")
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="To train on: a file, a folder of them, huggingface."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="To train with (default: the figure's own).")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes that train (default: one a core).")
    ] = None,
    json: Json = False,
) -> None:
    """Redraw figures of the papers from trained rows, beside the published numbers and the bounds.

    Drawing needs the rows alone. Training is for --train and --quick.
    """
    from ..commands import reproduce as command
    from ..lab.workers import Workers
    from .reproduce import reproduced

    with keeping(rows), watching(json) as watch:
        answer = command.reproduce(
            names or (), everything=everything, rows=rows, output=output, train=train,
            quick=quick, data=data, seeds=seeds, workers=Workers(jobs=jobs), watch=watch,
        )  # fmt: skip
    finish(answer, json, reproduced)
