"""compile: a dataset becomes a model folder."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..api.compile import compile_folder
from ..api.configure import check_prove_limit
from ..views.compile import view
from . import options
from .declaring import Command, flag, option
from .output import answer, kept

OPTIONS = (
    options.DATA,
    options.NEW_FOLDER,
    options.READING,
    options.CHOSEN,
    option("method", "See byheart methods.", names=options.METHODS),
    options.FORM,
    options.ON_CONFLICT,
    option("sample", "Verify only K random sequences: not a proof.", int, metavar="K"),
    options.PROVE_LIMIT,
    options.SEED,
    options.FORCE,
    flag("write_data", "Put data.jsonl beside the weights."),
    flag("packed", "Write one small file instead of a folder."),
    options.JSON,
)


def command_for(arguments: Sequence[str]) -> Command:
    """The command; its help lists the options of the method that the arguments name."""
    words = [part for word in arguments for part in word.split("=", 1)]
    method = dict(pairwise(words)).get("--method")
    return options.building(OPTIONS, method, arguments)(command)


def command(output: Path, prove_limit: float, json: bool, **how: Any) -> None:
    """Compile a dataset into a model folder, verified before it is written.

    Each method has options of its own: `byheart methods NAME`, or this help with --method NAME.
    """
    check_prove_limit(prove_limit)
    how |= {"output": output, "prove_limit": prove_limit}
    result = answer(compile_folder, view, json=json, **how)
    if not json:
        kept(output, result.verify, question=result.question)
