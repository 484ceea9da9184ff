"""The last section of a model card: the commands that check the model again."""

from importlib.resources import files

from ...claims.card import several
from ...claims.model import ModelData
from ..source import stored, verify_command


def check_again(model: ModelData, with_data: bool) -> str:
    """How to verify the model, with byheart and with the independent checker."""
    counts = model.record.conflicts
    changed, dropped = counts.get("relabelled"), counts.get("dropped")
    data = "the file that it was compiled from"
    if changed or dropped:
        data = (
            f"that file after {several(changed, 'label')} {'was' if changed == 1 else 'were'} "
            f"changed and {several(dropped, 'sequence')} left out,\n"
            "as `byheart compile --write-data` writes it"
        )
    canonical = bool(with_data or changed or dropped)
    verify = verify_command(model, canonical=canonical)
    plainly = canonical or not stored(model)
    checker = "python checker/check.py DIR DATA" if plainly else f"{verify} --checker"
    data = "`data.jsonl` in this folder" if with_data else data
    text = files(__package__).joinpath("again.md").read_text("ascii")
    return text.format(verify=verify, checker=checker, data=data)
