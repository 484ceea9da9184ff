"""The keys that compile, verify and demo answer with."""

import math
from collections.abc import Mapping, Sequence

from ..models.language_model import LanguageModel
from ..models.model import Model
from ..models.verification import Fit, Verification

DATASET = ("sequences", "contexts", "labels", "length", "vocabulary")
BITS = ("total", "fixed", "encoded", "largest", "information")
PARAMETERS = ("nonzero", "dense", "counted", "outside")


def answer(
    model: Model | LanguageModel,
    verified: Verification | None,
    seconds: Mapping,
    failures: Sequence[str] = (),
) -> dict:
    """What is known about a model, and on what evidence."""
    about = model.about
    found = {
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
    }
    if isinstance(model, LanguageModel):
        found |= {"gap": model.gap, **fitted(verified.fit if verified else None)}
    return found


NOT_CHECKED = {"checked": 0, "correct": 0, "evidence": None}


def fitted(fit: Fit | None) -> dict:
    """How well distributions are stored; null where nothing was compared, or is not finite."""
    if fit is None:
        return dict.fromkeys(("divergence", "loss", "accuracy", "predictions"))
    return {
        "divergence": {"mean": _finite(fit.mean), "max": _finite(fit.max)},
        "loss": {"total": _finite(fit.loss), "entropy": fit.entropy},
        "accuracy": fit.accuracy,
        "predictions": fit.predictions,
    }


def _finite(number: float) -> float | None:
    """JSON knows no infinity."""
    return number if math.isfinite(number) else None
