"""compile: a dataset becomes a model folder."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ..api.compile import compile_folder
from ..api.configure import check_prove_limit
from ..claims.verification import PROVE_LIMIT
from ..views.compile import view
from . import options
from .output import finish, kept
from .progress import watching


def command_for(arguments: Sequence[str]) -> options.Command:
    """The command; its help lists the options of the method that the arguments name."""
    return options.building(command, options.value_of("--method", arguments), arguments)


@options.reading
def command(
    data: options.Data,
    output: options.NewFolder,
    loading: options.Loading,
    chosen: options.MethodOptions,
    method: Annotated[
        str | None, typer.Option(help="See byheart methods.", autocompletion=options.METHODS)
    ] = None,
    form: options.Form = None,
    on_conflict: options.OnConflict = "refuse",
    sample: Annotated[
        int | None, typer.Option(metavar="K", help="Verify only K random sequences: not a proof.")
    ] = None,
    prove_limit: options.ProveLimit = PROVE_LIMIT,
    seed: options.Seed = 0,
    force: options.Force = False,
    write_data: Annotated[
        bool, typer.Option("--write-data", help="Put data.jsonl beside the weights.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Compile a dataset into a model folder, verified before it is written.

    Each method has options of its own: `byheart methods NAME`, or this help with --method NAME.
    """
    check_prove_limit(prove_limit)
    how: dict[str, Any] = {"on_conflict": on_conflict, "sample": sample, "seed": seed, **chosen}
    with watching() as watch:
        result = compile_folder(
            data, output, method, form, loading=loading, force=force, write_data=write_data,
            watch=watch, prove_limit=prove_limit, **how,
        )  # fmt: skip
    finish(result, json, view)
    if not json:
        kept(output, result.verify)
