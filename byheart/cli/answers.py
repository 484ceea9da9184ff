"""The JSON keys that compile, verify and demo answer with."""

from collections.abc import Mapping, Sequence

from ..errors import ByheartError
from ..models.model import Model
from ..models.verification import Verification

DATASET = ("sequences", "contexts", "labels", "length", "vocabulary")
BITS = ("total", "fixed", "encoded", "largest", "information")
PARAMETERS = ("nonzero", "dense", "counted", "outside")
NOT_CHECKED = {"checked": 0, "correct": 0, "evidence": None}


def model_answer(
    model: Model, verified: Verification | None, seconds: Mapping, failures: Sequence[str] = ()
) -> dict:
    """The sizes of a model, and the evidence that it keeps its claim."""
    about = model.about
    return {
        "method": about["method"],
        "form": about.get("form"),
        "dataset": {key: about["data"].get(key) for key in DATASET},
        "parameters": {key: about["parameters"].get(key) for key in PARAMETERS},
        "bits": {key: about["bits"].get(key) for key in BITS},
        "depth": model.network.depth,
        "width": model.network.width,
        "seconds": {key: seconds.get(key) for key in ("load", "build", "verify")},
        "search": dict(about.get("search") or {"seed": None, "tries": None}),
        "verified": verified.json() if verified else NOT_CHECKED,
        "conflicts": dict(about.get("conflicts") or {}),
        "notes": list(about.get("notes") or ()),
        "failures": list(failures),
        **model.claim.facts(verified),
    }


def check_prove_limit(seconds: float) -> None:
    """ByheartError if proving cannot be limited to this time; nan is not a limit."""
    if not seconds >= 0:
        raise ByheartError(
            f"--prove-limit must be a number of seconds of at least 0, not {seconds}."
        )
