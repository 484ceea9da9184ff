"""check: whether a statement of a paper holds for given numbers, data or a model."""

from typing import Any

from ...data.load import dataset_of
from ...errors import ByheartError
from ...models.model import Model
from . import dana2024, kajitsuka2025, madden2024
from .base import Check, Checked

CHECKS: dict[str, Check] = {
    x.name: x for x in (*madden2024.CHECKS, *dana2024.CHECKS, *kajitsuka2025.CHECKS)
}


def check(name: str, **given: Any) -> Checked:
    """Whether a statement of a paper holds, on what evidence, and the counterexample if it fails.

    Args:
        name: One of those that `byheart check` lists, such as "madden-theorem-2".
        **given: Numbers, sizes, `data` (a Dataset, or whatever `load` reads) or `model` (a Model),
            as the statement needs them. Floats are taken as the rational numbers that they are.

    Returns:
        `.holds`, `.evidence`, `.detail` and `.counterexample`; `.json()` is what `byheart check
        --json` prints.

    Raises:
        ByheartError: There is no such check, it does not take what was given, or it needs more.

    Example:
        >>> check("madden-theorem-3", activation="tanh", inputs=[1, 2, 3]).evidence
        'proved'
        >>> check("madden-theorem-3", activation="tanh", inputs=[1, -1]).counterexample["says"]
        'psi(1 w) + psi(-1 w) = 0 for every weight w'
    """
    found = find(name)
    for option in given:
        if option not in found.takes:
            raise ByheartError(f"{name} takes no {option}=...; it takes {', '.join(found.takes)}.")
    for option in found.required:
        if given.get(option) is None:
            raise ByheartError(f"{name} needs {option}=....")
    if given.get("data") is not None:
        given["data"] = dataset_of(given["data"])
    if "model" in given and not isinstance(given["model"], Model):
        raise ByheartError("check takes a Model; open its folder with byheart.open.")
    outcome = found.run(**{option: x for option, x in given.items() if x is not None})
    return Checked(found, outcome.evidence, outcome.detail, outcome.counterexample, outcome.facts)


def find(name: str) -> Check:
    """The check of this name."""
    if name not in CHECKS:
        raise ByheartError(f"there is no check {name!r}; there are: {', '.join(CHECKS)}.")
    return CHECKS[name]
