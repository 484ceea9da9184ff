"""What several commands print: short, aligned tables for people, or one JSON object."""

import io
import json as encoder
import math
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..errors import ByheartError
from ..machine.tables import named, number, plural
from ..machine.watch import Watch
from ..machine.words import STEERS, brief, harmless, printable
from ..pictures import write
from .messages import flags

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..data.dataset import Dataset
    from ..data.documents import Documents
    from ..models.model import Model
    from ..models.verification import Verification

STYLES = {"proved": "bold green", "sampled": "green", "observed": "yellow", "refuted": "bold red"}
RIGOROUS = ", each by a rigorous bound"
ANY_ORDER = " in float32 whatever the order of summation"
ONE_RUN = " in one run of NumPy in float32: not a proof"
UNSETTLED = "not settled"  # correct as far as it was read
NO_PROOF = " in a float run at two batch sizes: not a proof"
DATASET = ("sequences", "contexts", "labels", "length", "vocabulary")
BITS = ("total", "fixed", "encoded", "largest", "entropy", "information")
NEEDED = {
    "entropy": "bits of these labels, by their frequencies",
    "information": "bits of the worst labels",
}
PARAMETERS = ("nonzero", "dense", "counted", "outside")
NOT_CHECKED = {"checked": 0, "correct": 0, "evidence": None}
CLOSING, OPENING = set(".,;:!?)]}’”…%"), set("“‘([{’")
Row = tuple[str, str, str]


class Trimmed(io.TextIOBase):
    """A stream that keeps back spaces until something else follows on their line."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.spaces = stream, ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.stream.encoding

    def write(self, text: str) -> int:
        kept = re.sub(r" +(?=\n)", "", self.spaces + text)
        shown = kept.rstrip(" ")
        self.spaces = kept[len(shown) :]
        self.stream.write(shown)
        return len(text)

    def flush(self) -> None:
        self.stream.flush()

    def fileno(self) -> int:
        return self.stream.fileno()

    def isatty(self) -> bool:
        return False


def console() -> Console:
    """Where answers are printed: in a pipe, no line ends with spaces."""
    piped = sys.stdout is not None and not sys.stdout.isatty()  # None if the caller closed it
    file = cast(TextIO, Trimmed(sys.stdout)) if piped else None
    return Console(file=file, highlight=False, soft_wrap=False)


def print_json(answer: object) -> None:
    text = encoder.dumps(answer, ensure_ascii=False, allow_nan=False)
    # JSON escapes the first 32 characters by itself; the others that steer a terminal, here
    sys.stdout.write(STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def pictured(
    answer: dict, draw: Callable[[dict], "Figure"], path: Path | None, watch: Watch
) -> dict:
    """The answer with the name of its picture, which is drawn if there is one."""
    answer["picture"] = None if path is None else str(path)
    if path is not None:
        watch.stage("drawing")
        write(draw, answer, path)
    return answer


def finish(answer: dict, json: bool, view: Callable[[dict], RenderableType]) -> None:
    """Print the answer of a command, for a program or for a person."""
    if json:
        print_json(answer)
    else:
        console().print(view(harmless(answer)))


def kept(output: Path, verify: str | None = None, screen: Console | None = None) -> None:
    """Where the model is, how to ask it and how to verify it, in lines that can be copied."""
    words = f"\nwritten to {output}\ntry: byheart recall {shlex.quote(str(output))}"
    words += f"\ncheck it: {verify}" if verify else ""
    copied(words, screen)


def copied(words: str, screen: Console | None = None) -> None:
    """Print lines that people copy: they are not broken."""
    (screen or console()).print(Text(printable(words)), soft_wrap=True)


def drawn(answer: dict, before: str = "\n") -> list[Text]:
    """Where the picture is, if there is one."""
    return [Text(f"{before}drawn in {answer['picture']}")] if answer["picture"] else []


def how_read(found: "Dataset | Documents") -> dict:
    """How a file was read: the options, how much was skipped, and what else there is to say."""
    return {
        "reading": dict(found.loading),
        "reading_notes": list(map(flags, found.notes)),
        "skipped": found.skipped,
    }


def reading_notes(answer: dict) -> list[Text]:
    """What there is to say about how the file was read."""
    return [Text(f"note: {note}.", style="yellow") for note in answer["reading_notes"]]


def counts(data: dict, *nouns: str) -> str:
    """How large a dataset is: the number of each of these."""
    chosen = nouns or ("sequence", "context", "label")
    return ", ".join(plural(data[f"{noun}s"], noun) for noun in chosen)


def rows(lines: Iterable[Row]) -> Table:
    """Name, value and remark, aligned."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def sentences(lines: Iterable[tuple[str, str]], style: str = "") -> Table:
    """Names, and sentences beside them."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(style=style)
    for name, sentence in lines:
        table.add_row(Text(name), Text(sentence))
    return table


def columns(space: int = 2) -> Table:
    """A table without lines, to which columns are added."""
    return Table(box=None, pad_edge=False, padding=(0, space, 0, 0))


def model_answer(
    model: "Model", verified: "Verification | None", seconds: Mapping, failures: Sequence[str] = ()
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
        "verified": NOT_CHECKED if verified is None else verified.json(),
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


def stores_distributions(answer: dict) -> bool:
    return "gap" in answer


def recites(answer: dict) -> bool:
    """Whether this is a stock checkpoint."""
    return "margin" in answer


def size_rows(answer: dict) -> list[Row]:
    """The data and the size of the network; of distributions, also how close they are."""
    own = "by the folder's own account" if "method" in answer.get("unchecked", ()) else ""
    data = {key: number(value) for key, value in answer["dataset"].items()}
    parameters = {key: number(value) for key, value in answer["parameters"].items()}

    def some(noun: str) -> str:
        return plural(answer["dataset"][f"{noun}s"], noun)  # a folder may not say

    if stores_distributions(answer):
        reads = "token is read" if answer["dataset"]["vocabulary"] == 1 else "tokens are read"
        reads += f", {data['labels']} follow{'s' if answer['dataset']['labels'] == 1 else ''}"
        reads += f"; length {data['length']}"
        return [
            ("method", brief(answer["method"]), own),
            ("contexts", data["contexts"], f"of {some('sequence')}"),
            ("vocabulary", data["vocabulary"], reads),
            ("parameters", parameters["dense"], f"{parameters['nonzero']} nonzero"),
            *fit_rows(answer),
        ]
    if recites(answer):
        stored, margin = answer["neurons"], answer["margin"]
        each = f"; {answer['parameters']['dense'] / stored:,.0f} per neuron" if stored else ""
        least = "nats at least, between the logit of the answer and all others"
        return [
            ("method", brief(answer["method"]), own or f"a stock checkpoint in {answer['dtype']}"),
            ("predictions", data["sequences"], f"of the next token, by {number(stored)} neurons"),
            (
                "vocabulary",
                data["vocabulary"],
                f"tokens in the data; longest text {data['length']}",
            ),
            ("parameters", parameters["dense"], f"{parameters['nonzero']} nonzero{each}"),
            *bit_rows(answer["bits"]),
            *([] if margin is None else [("margin", f"{margin:.4g}", least)]),
            ("depth", number(answer["depth"]), f"width {number(answer['width'])}"),
        ]
    return [
        ("method", brief(answer["method"]), brief(answer["form"] or "")),
        ("sequences", data["sequences"], some("context")),
        ("labels", data["labels"], f"vocabulary {data['vocabulary']}, length {data['length']}"),
        ("parameters", parameters["nonzero"], f"nonzero; {parameters['dense']} with zeros"),
        *bit_rows(answer["bits"]),
        ("depth", number(answer["depth"]), f"width {number(answer['width'])}"),
    ]


def bit_rows(bits: dict) -> list[Row]:
    """The bits of the network, beside those that its labels need and that the worst ones need."""
    total, needed, ratios = bits["total"], [], []
    for name, words in NEEDED.items():
        limit = bits[name] if isinstance(bits[name], int | float) else None  # a folder's own words
        needed.append((name, number(limit if limit is None else round(limit)), words))
        ratios += [f"{number(total / limit)} x the {name}"] if limit and total else []
    return [("bits", number(total), ", ".join(ratios)), *needed]


def fit_rows(answer: dict) -> list[Row]:
    """How close the distributions are, and what that means for the loss; none if not compared."""
    divergence, loss = answer.get("divergence"), answer.get("loss")
    if not divergence or not loss or divergence["max"] is None:
        return []
    evidence = answer["verified"]["evidence"]
    known = {"observed": " in a float run", "proved": " at most", "sampled": " at most"}
    known["refuted"] = " by rigorous bounds or a float run"
    mean, above = divergence["mean"], loss["total"] - loss["entropy"]
    bound = f"nats; {above:.3g} above the entropy bound of {loss['entropy']:,.6g}"
    found = [
        ("gap", f"{answer['gap']:g}", "nats: largest divergence allowed per context"),
        (
            "divergence",
            f"{divergence['max']:.4g}",
            f"nats{known.get(evidence, '')}; mean {mean:.4g}",
        ),
        ("loss", f"{loss['total']:,.6g}", bound),
    ]
    count = answer.get("predictions")
    if count:
        each, least = (loss[key] / count for key in ("total", "entropy"))
        power, lowest = (
            f"{math.exp(x):,.6g}" if x < 700 else "beyond all numbers" for x in (each, least)
        )
        remark = f"nats; bound {least:.6g}; {plural(count, 'prediction')}"
        found.append(("per prediction", f"{each:.6g}", remark))
        found.append(("perplexity", power, f"bound {lowest}"))
    found.append(
        ("accuracy", f"{answer['accuracy']:.2%}", "of predictions, by the likeliest token")
    )
    if evidence == "sampled":
        checked = number(answer["verified"]["checked"])
        found.append(("sample", checked, "contexts: all numbers from the gap on are theirs"))
    return found


def verdict(answer: dict) -> Text:
    """One line: on what evidence the model is correct."""
    found, whole = answer["verified"], answer["dataset"]
    stores = stores_distributions(answer)
    if found["evidence"] is None and not answer["failures"]:
        about = "distribution" if stores else "label"
        return Text(
            f"format, hashes and structure hold; no {about} was checked: pass the data file"
        )
    word = found["evidence"] or UNSETTLED
    noun = "context" if stores else "label"
    what = f"{named(found['checked'], noun)} {'within the gap' if stores else 'correct'}"
    if stores:
        audit = f"{RIGOROUS}; {number(whole['contexts'])} in all: a sample, not a proof"
        means = {"proved": RIGOROUS, "sampled": audit, "observed": NO_PROOF}
    elif recites(answer):
        what = f"{'prediction' if found['checked'] == 1 else 'predictions'} right"
        audit = f"{ANY_ORDER}; {number(whole['sequences'])} in all: a sample, not a proof"
        means = {"proved": ANY_ORDER, "sampled": audit, "observed": ONE_RUN}
        if ran := answer.get("runtime"):
            means["observed"] = f" in {ran['name']} {ran['version']}, {ran['dtype']}: not a proof"
    else:
        audit = f"; {plural(whole['sequences'], 'sequence')} in all: a sample, not a proof"
        means = {"proved": ", each evaluated in exact arithmetic", "sampled": audit}
    means[UNSETTLED] = ", but a part of the file was left out"
    text = Text(word, style=STYLES.get(word, ""))
    text.append(f"  {number(found['correct'])} of {number(found['checked'])} {what}", "default")
    return text.append(means.get(word, ""), "not bold default")


def timed(answer: dict) -> Text:
    spent = [f"{k} {v:.1f} s" for k, v in answer["seconds"].items() if isinstance(v, float)]
    return Text(", ".join(spent), style="dim")


def codes(text: str) -> str:
    """One line for each of A1, A2, ..., G1, ..., D1, ..."""
    return re.sub(r"(?<=[.:)])\s+(?=[AGD]\d+\s)", "\n", text)


def gap(before: str, after: str) -> str:
    """What stands between two tokens of text, as a printer would set them."""
    if not before or after[0] in CLOSING or before[-1] in OPENING:
        return ""
    return " "


def typeset(tokens: Sequence[str]) -> str:
    """The tokens as running text.

    >>> typeset(["“", "A", "word", ",”", "she", "said", "."])
    '“A word,” she said.'
    """
    pairs = zip(["", *tokens], tokens, strict=False)
    return "".join(gap(before, after) + after for before, after in pairs)
