"""What a person sees of models that store distributions."""

import math

from rich.text import Text

STYLES = {"proved": "bold green", "sampled": "green", "observed": "yellow", "refuted": "bold red"}
Row = tuple[str, str, str]
NO_PROOF = " in a float run at two batch sizes: no proof"
RIGOROUS = ", each by a rigorous bound"
RIGOROUS_WORDS = ("proved", "sampled")


def size_rows(answer: dict) -> list[Row]:
    """What is stored, in how many parameters."""
    data, parameters = answer["dataset"], answer["parameters"]
    return [
        ("method", str(answer["method"]), ""),
        ("contexts", f"{data['contexts']:,}", f"of {data['sequences']:,} sequences"),
        (
            "vocabulary",
            f"{data['vocabulary']:,}",
            f"tokens are read, {data['labels']:,} follow; length {data['length']:,}",
        ),
        ("parameters", f"{parameters['dense']:,}", f"{parameters['nonzero']:,} are not zero"),
    ]


def fit_rows(answer: dict) -> list[Row]:
    """How near the distributions are, and what that means for the loss; nothing if not compared."""
    divergence, loss = answer.get("divergence"), answer.get("loss")
    if not divergence or not loss or divergence["max"] is None:
        return []
    mean, most = divergence["mean"], divergence["max"]
    known = "at most" if answer["verified"]["evidence"] in RIGOROUS_WORDS else "in a float run"
    rows = [
        ("gap", f"{answer['gap']:g}", "nats that a context may be off"),
        ("divergence", f"{most:.4g}", f"nats {known}; mean {mean:.4g}"),
        ("loss", f"{loss['total']:,.6g}", _bound(loss)),
    ]
    if answer.get("predictions"):
        rows += _each(loss, answer["predictions"])
    rows.append(("accuracy", f"{answer['accuracy']:.2%}", "of the likeliest tokens"))
    if answer["verified"]["evidence"] == "sampled":
        checked = answer["verified"]["checked"]
        rows.append(("sample", f"{checked:,}", "contexts: all numbers from the gap on are theirs"))
    return rows


def _bound(loss: dict) -> str:
    above = loss["total"] - loss["entropy"]
    return f"nats; {above:.3g} above the entropy bound of {loss['entropy']:,.6g}"


def _each(loss: dict, predictions: int) -> list[Row]:
    """The same for one prediction of them."""
    total, least = (loss[key] / predictions for key in ("total", "entropy"))
    return [
        ("a prediction", f"{total:.6g}", f"nats; bound {least:.6g}; {predictions:,} predictions"),
        ("perplexity", _power(total), f"bound {_power(least)}"),
    ]


def _power(exponent: float) -> str:
    return f"{math.exp(exponent):,.6g}" if exponent < 700 else "beyond all numbers"


def verdict(answer: dict) -> Text:
    """One line: on what evidence the distributions are right."""
    found = answer["verified"]
    if found["evidence"] is None and not answer["failures"]:
        return Text(
            "format, hashes and structure hold; no distribution was checked: name the data file"
        )
    word = found["evidence"] or "refuted"
    text = Text(word, style=STYLES.get(word, ""))
    text.append(
        f"  {found['correct']:,} of {found['checked']:,} contexts within the gap", "default"
    )
    audit = f"; {answer['dataset']['contexts']:,} in all: an audit, no proof"
    means = {"proved": RIGOROUS, "sampled": RIGOROUS + audit, "observed": NO_PROOF}
    return text.append(means.get(word, ""), "not bold default")
