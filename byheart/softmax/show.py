"""A decoder for people: how close its distributions are, and its model card."""

import math
from typing import Any

from ..claims.card import BIT_ROWS, filled, plain, rows, several, table, trained
from ..claims.claim import Distributions, Draws
from ..claims.kind import Row
from ..claims.verification import FIT, OBSERVED, PROVED, SAMPLED, Fit, Verification
from ..machine.tables import named, number, plural, upto
from ..machine.words import brief
from .answer import DecoderModel
from .decoder import ATTENTION
from .stages import stages as stages

EVIDENCE: dict[str | None, str] = {
    PROVED: "by rigorous bounds over the real numbers, for every context",
    SAMPLED: "by rigorous bounds over the real numbers, for a random sample of the contexts; "
    "the others were not examined",
    OBSERVED: "in a run in float64 arithmetic, over every context; this is not a proof",
}
UNIT, CORRECT, REMARKS = "context", "within the gap", True
RIGOROUS = ", each by a rigorous bound"
NO_PROOF = " in a float run at two batch sizes: not a proof"
KNOWN = {
    "observed": " in a float run",
    "proved": " at most",
    "sampled": " at most",
    "refuted": " by rigorous bounds or a float run",
}


def facts(claim: Distributions | Draws, found: Verification | None) -> dict[str, Any]:
    """The gap and the fit; null where nothing was compared or a number is not finite."""
    if found is None or found.fit is None:
        return {"gap": claim.gap, **dict.fromkeys(FIT)}
    sizes: dict[str, Any] = found.fit._asdict()
    infinite = {name: None for name in ("mean", "max", "loss") if not math.isfinite(sizes[name])}
    return {"gap": claim.gap, **Fit(**sizes | infinite).json()}  # JSON has no infinity


def explained(model: DecoderModel) -> tuple[dict[str, Any], dict[str, Any]]:
    shape = model.network.shape
    reads: dict[str, Any] = {"dimension": shape.dimension, "positions": shape.mixing == ATTENTION}
    reads |= {"length": shape.length, "columns": shape.length, "padding": None, "extra": None}
    times = ratio(shape.parameters, shape.vocabulary, shape.neurons)
    more = {"shape": shape, "formula": shape.formula, "ratio": times, "gap": model.claim.gap}
    return reads, more


def ratio(parameters: int, vocabulary: int, neurons: int) -> float | None:
    """How many times more contexts the parameters might hold: eq. (3); None without neurons."""
    return parameters / ((vocabulary - 1) * neurons) if neurons else None


def card(model: DecoderModel, verified: Verification, check_again: str) -> str:
    """The card of a model that stores next-token distributions."""
    double, training = model.number == "float64", model.record.training
    elsewhere = (
        "The weights are an ordinary state dict, which `safetensors.torch.load_file` reads;\n"
        "docs/plain-tensors.md of byheart has the forward pass in a few lines."
        if double
        else "The weights have more digits than float64 holds; "
        "checker/FORMAT.md of byheart says how they are stored."
    )
    number = "float64" if double else "exact numbers, mantissa * 2^exponent"
    if training is not None:
        times = training.get("output_times", 1)
        more = "" if times == 1 else f"\n`output.weight` is {plain(times)} times what was trained."
        origin = (
            f", up to the divergence below.\nIts weights ({number}) were trained. "
            f"{trained(training)}\nScales, biases and skip connections that this decoder has no "
            f"place for are folded into its other\nweights, so its own count may differ.{more}"
        )
    else:
        origin = (
            f". Its weights ({number}) were\nnot trained: they were computed from the dataset, "
            f"by the method `{plain(model.record.method)}`."
        )
    contexts = several(verified.checked, "context")
    text = filled(
        __package__,
        "next-token-distributions",
        model.record,
        verified,
        distributions=several(model.record.data.contexts, "next-token distribution"),
        origin=origin,
        gap=repr(model.claim.gap),
        correct=f"{contexts} {'keeps' if verified.checked == 1 else 'keep'}",
        means=EVIDENCE[verified.evidence],
        rows=_fit(verified) + _sizes(model),
        reads=upto(1, model.length, "token"),
        elsewhere=elsewhere,
    )
    return text + check_again


def _fit(verified: Verification) -> str:
    fit = verified.fit
    if fit is None:
        return ""
    part = " of the sample" if verified.evidence == SAMPLED else ""
    found = {
        "divergence, mean over all predictions": f"{fit.mean:.3g} nats",
        "divergence, largest of a context": f"{fit.max:.3g} nats",
        "cross-entropy of all predictions": f"{fit.loss:.12g} nats",
        "the least it can be, their entropy": f"{fit.entropy:.12g} nats",
        "predictions for which the likeliest token is correct": f"{fit.accuracy:.6g}",
    }
    return table({title + part: value for title, value in found.items()})


def _sizes(model: DecoderModel) -> str:
    shape = model.network.shape
    mixing = {"mixing of tokens": "a weighted sum"}
    if shape.mixing == ATTENTION:
        title = f"heads (m_0), d_1, d_0, {'with' if shape.skip else 'without'} skip connection"
        mixing = {title: f"{shape.heads}, {shape.key_dimension}, {shape.value_dimension}"}
    sizes = {
        "distinct tokens (omega), longest context (T)": f"{shape.vocabulary}, {shape.length}",
        "dimension of embedded tokens (d)": shape.dimension,
        **mixing,
        f"neurons (m), activation {plain(shape.activation)}": shape.neurons,
        f"parameters, {shape.formula}": shape.parameters,
    }
    nonzero = rows(model.record.parameters, {"nonzero": "of these, nonzero"})
    bits = {name: title for name, title in BIT_ROWS.items() if name in ("total", "largest")}
    return table(sizes) + nonzero + rows(model.record.bits, bits)


def size_rows(model: DecoderModel, found: Verification, stated: str) -> list[Row]:
    data, parameters = model.record.data, model.record.parameters
    reads = "token is read" if data.vocabulary == 1 else "tokens are read"
    reads += f", {number(data.labels)} follow{'s' if data.labels == 1 else ''}"
    reads += f"; length {number(data.length)}"
    return [
        ("method", brief(str(model.record.method)), stated),
        ("contexts", number(data.contexts), f"of {plural(data.sequences, 'sequence')}"),
        ("vocabulary", number(data.vocabulary), reads),
        ("parameters", number(parameters.dense), f"{number(parameters.nonzero)} nonzero"),
        *fit_rows(model.claim.gap, found),
    ]


def fit_rows(gap: float, found: Verification) -> list[Row]:
    """How close the distributions are, and what that means for the loss; none if not compared."""
    fit = found.fit
    if fit is None or not math.isfinite(fit.max):
        return []
    bound = f"nats; {fit.loss - fit.entropy:.3g} above the entropy bound of {fit.entropy:,.6g}"
    divergence = f"nats{KNOWN.get(found.evidence or '', '')}; mean {fit.mean:.4g}"
    rows = [
        ("gap", f"{gap:g}", "nats: largest divergence allowed per context"),
        ("divergence", f"{fit.max:.4g}", divergence),
        ("loss", f"{fit.loss:,.6g}", bound),
    ]
    if fit.predictions:
        each, least = fit.loss / fit.predictions, fit.entropy / fit.predictions
        power, lowest = (
            f"{math.exp(x):,.6g}" if x < 700 else "beyond all numbers" for x in (each, least)
        )
        remark = f"nats; bound {least:.6g}; {plural(fit.predictions, 'prediction')}"
        rows.append(("per prediction", f"{each:.6g}", remark))
        rows.append(("perplexity", power, f"bound {lowest}"))
    rows.append(("accuracy", f"{fit.accuracy:.2%}", "of predictions, by the likeliest token"))
    if found.evidence == "sampled":
        remark = "contexts: all numbers from the gap on are theirs"
        rows.append(("sample", number(found.checked), remark))
    return rows


def means(model: DecoderModel) -> dict[str, str]:
    sample = f"{RIGOROUS}; {number(model.record.data.contexts)} in all: a sample, not a proof"
    return {"proved": RIGOROUS, "sampled": sample, "observed": NO_PROOF}


def tried(count: object) -> str:
    return f"{named(count, 'draw')} or {named(count, 'solution')}"
