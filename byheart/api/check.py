"""check: whether a statement of a paper holds for given numbers, data or a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..claims.result import picked
from ..claims.verification import PROVED
from ..data.dataset import Dataset
from ..data.load import LOADING, applicable, dataset_of, load
from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from ..models.model import Model
from ..models.opening import open as open_folder
from ..models.source import stored
from .checks import CHECKS
from .checks.base import Check, Outcome
from .checks.numbers import LISTS, SINGLE, number_list, numbers_of
from .verify import checked_accept


class Reading(NamedTuple):
    """How the file of a check was read."""

    file: str
    sequences: int
    options: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Checked(Outcome):
    """The outcome of a check, with the statement that it is about."""

    check: Check = field(kw_only=True)
    accepted: tuple[str, ...] = ()  # evidence short of a proof that is taken for enough
    reading: Reading | None = None  # how the data was read, if it was a file

    @property
    def holds(self) -> bool | None:
        """Whether the statement holds here; None if it was not decided."""
        return None if self.evidence is None else self.evidence != "refuted"

    @property
    def settled(self) -> bool:
        """Whether it is proved, or there is evidence that was accepted beforehand."""
        return self.evidence in (PROVED, *self.accepted)

    def json(self) -> dict:
        own = "holds evidence detail counterexample facts accepted reading"
        return {**picked(self.check, "check=name paper item says"), **picked(self, own)}

    def __repr__(self) -> str:
        return f"{self.evidence or 'not decided'}: {self.detail}"


class CheckList(tuple[Check, ...]):
    """All checks; `.json()` is what `byheart check --json` says without a name."""

    def json(self) -> dict:
        return {"rows": [check.json() for check in self]}


def list_checks() -> CheckList:
    return CheckList(CHECKS.values())


def find(name: str) -> Check:
    if name not in CHECKS:
        raise ByheartError(f"there is no check {name!r}; there are: {', '.join(CHECKS)}.")
    return CHECKS[name]


def check(
    name: str,
    *,
    model: Model | str | Path | None = None,
    data: Any = None,
    numbers: str | Path | None = None,
    accept: Sequence[str] = (),
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
    **given: Any,
) -> Checked:
    """Whether a statement of a paper holds, on what evidence, and the counterexample if it fails.

    Args:
        name: One of those that `byheart check` lists, such as "madden-theorem-2".
        model: A Model, or the path of its folder, if the statement is about one.
        data: A Dataset, or whatever `load` reads, if the statement is about data.
        numbers: A .json or .npz file of lists that are named as the options are.
        accept: Evidence short of a proof that is enough: "sampled", "observed".
        loading: The options of `load` for a file. By default its text is split as the model's was.
        watch: Where progress is reported.
        **given: Numbers and sizes, as the statement needs them. Floats are taken as the rational
            numbers that they are; "1,-0.5,2/7" is a list of numbers, too.

    Returns:
        `.holds`, `.evidence`, `.detail` and `.counterexample`; `.json()` is what `byheart check
        --json` prints.

    Example:
        >>> check("madden-theorem-3", activation="tanh", inputs=[1, 2, 3]).evidence
        'proved'
        >>> check("madden-theorem-3", activation="tanh", inputs=[1, -1]).counterexample["says"]
        'psi(1 w) + psi(-1 w) = 0 for every weight w'
    """
    chosen, accepted = find(name), checked_accept(accept)
    given |= {"model": model, "data": data}
    given = {key: value for key, value in given.items() if value is not None}
    for key in given:
        if key not in chosen.takes:
            takes = ", ".join(f"`{x}`" for x in chosen.takes if x not in ("model", "data"))
            raise ByheartError(f"{name} takes no `{key}`{takes and f'; it takes {takes}'}.")
    for key, value in given.items():
        if isinstance(value, str) and key in (*LISTS, *SINGLE):
            values = number_list(value, key, single=key in SINGLE)
            given[key] = values[0] if key in SINGLE else values
    for key, values in (numbers_of(Path(numbers)) if numbers is not None else {}).items():
        if key in given:
            raise ByheartError(f"{numbers} holds {key}, which is given as well.")
        given[key] = values
    for key in chosen.required:
        if key not in given:
            raise ByheartError(f"{name} needs `{key}=...`.")
    if isinstance(model, str | Path):
        watch.stage("opening")
        given["model"] = open_folder(model)
    if "model" in given and not isinstance(given["model"], Model):
        raise ByheartError("check takes a Model, or the path of its folder.")
    reading = None
    if data is None:
        for option in LOADING:
            if (loading or {}).get(option.name) not in (option.default, None, ()):
                raise ByheartError(f"`{option.name}` is for a data file, and none was named.")
    elif isinstance(data, str | Path):
        watch.stage("loading")
        how = dict(loading or {})
        if "model" in given and how.get("unit", "word") == "word" and not how.get("tokenizer"):
            split = {k: v for k, v in stored(given["model"]).items() if k in ("unit", "tokenizer")}
            how |= applicable(data, split, how.get("format"))
        dataset = load(data, **how)
        options = {k: str(v) if isinstance(v, Path) else v for k, v in dataset.loading.items()}
        given["data"], reading = dataset, Reading(str(data), len(dataset), options)
    else:
        given["data"] = data if isinstance(data, Dataset) else dataset_of(data, loading)
    watch.stage("checking")
    outcome = chosen.run(**given)
    return Checked(**vars(outcome), check=chosen, accepted=accepted, reading=reading)
