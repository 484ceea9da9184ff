"""audit as a verdict, rows and a picture: what a model holds of a file."""

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from .. import pictures
from ..auditing.answer import Audit, AuditedData, AuditedModel
from ..machine.strict import shown
from ..machine.tables import number, plural
from ..pictures import BLUE, GREY, INK, ORANGE, PALE, Figure
from ..theory.item import SIGNS
from .terminal import STYLES, Row, notes, rows

BINS = 20
SHOWN = 4  # files by name


def view(result: Audit) -> Group:
    verdict = Text("observed", style=STYLES["observed"])
    verdict.append(f"  {result.verdict}", "default")
    parts: list[RenderableType] = [verdict, Text(), rows(lines(result))]
    parts += notes(result.notes)
    places = {
        "table per item in": result.table_file,
        "finished batches in": result.resumed,
        "drawn in": result.picture,
    }
    parts += [Text(f"{words} {place}") for words, place in places.items() if place]
    return Group(*parts)


def lines(result: Audit) -> list[Row]:
    """Name, value and what it means."""
    extraction, test, seconds = result.extraction, result.membership, result.seconds
    after = "given the input"
    if extraction.prefix is not None:
        after = f"after {extraction.prefix} tokens, at most {extraction.suffix} recited"
    if extraction.common is not None:
        after += f"; {extraction.common:.3g} recited on average before the first error"
    share = f"{number(extraction.verbatim)} of {number(extraction.asked)}"
    likeliest = "of predicted tokens, by the likeliest one"
    listed = _sizes(result)
    for limit in result.limits:
        amount = f"{SIGNS[limit.direction or 'at_most']} {number(limit.contexts)}"
        about = f"contexts, {limit.name}: {limit.reason}"
        if limit.bits is not None:
            thumb = limit.kind == "rule_of_thumb"
            amount = f"{'about' if thumb else '≤'} {whole(limit.bits)}"
            used = f"{limit.share:.1%} used; " if limit.share is not None else ""
            about = f"bits, {limit.name}; {used}"
            about += "measured on trained models" if thumb else "theorem"
        listed.append(("could hold", amount, about))
    listed.append(("verbatim", share, after))
    listed.append(("accuracy", f"{result.accuracy:.2%}", likeliest))
    if test is not None:
        saved, exposure = test.saved, test.exposure
        other = f"bits; {saved.non_members:.3g} of a non-member's token, none of which is memory"
        interval = f"95 % interval {test.low:.3f} to {test.high:.3f}; "
        interval += plural(test.non_members, "non-member")
        most = f"largest {exposure.largest:.3g} of {exposure.possible:.3g} possible"
        listed.append(("saved per token", f"{saved.items:.3g}", other))
        listed.append(("AUC", f"{test.auc:.3f}", interval))
        listed.append(("exposure", f"{exposure.mean:.3g}", f"bits on average; {most}"))
    speed = f"s to score, {number(round(seconds.tokens_per_second))} tokens per second"
    return [*listed, ("time", f"{seconds.score:.1f}", speed)]


def _sizes(result: Audit) -> list[Row]:
    """The model, the data, and what the one has memorised of the other."""
    model, data, memorised = result.model, result.data, result.memorised
    error, share = memorised.standard_error, memorised.share
    counted, stored = "tied ones counted once", f"as loaded, in {model.dtype}"
    if model.compiled:
        counted, stored = "those that are not 0", "of the whole network, as one code word"
    single = data.labelled and data.predicted == data.items
    predicted = plural(data.predicted, "label" if single else "token")
    if data.labelled and not single:
        predicted += " of labels"
    uniform = f"bits, if tokens were uniform over {number(model.vocabulary)}"
    saved = "bits: reference minus model"
    saved += f", {share:.1%} of it" if share is not None else ""
    saved += f"; standard error {whole(error)}" if error is not None else ""
    each = f"bits; {memorised.per_stored_bit:.4g} per stored bit"
    return [
        ("parameters", number(model.parameters), f"{model.kind}; {counted}"),
        ("stored bits", number(model.stored_bits), stored),
        *_files(model),
        ("items", number(data.items), f"{predicted} predicted{left(data)}"),
        ("information", whole(data.information), uniform),
        ("code length", whole(result.code_length), "bits under the model"),
        ("reference", whole(result.reference.bits), f"bits under {result.reference.name}"),
        ("memorised", whole(memorised.bits), saved),
        ("clamped", whole(memorised.clamped), "bits: the sum over items above 0"),
        ("per parameter", f"{memorised.per_parameter:.4g}", each),
    ]


def _files(model: AuditedModel) -> list[Row]:
    """Which weights were loaded, and what in the folder was not opened or not run."""
    listed: list[Row] = [
        ("weights", f"file {i} of {len(model.weights)}", f"{x.file}, SHA-256 {x.sha256}")
        for i, x in enumerate(model.weights[:SHOWN], 1)
    ]
    if len(model.weights) > SHOWN:
        listed.append(("weights", f"{len(model.weights) - SHOWN} more", "files; --json has all"))
    for what, noun, others in (
        ("not read", "file", model.unread),
        ("not run", "class", model.code),
    ):
        names = [shown(name)[1:-1] for name in others[:SHOWN]]
        more = len(others) - SHOWN
        names += [f"{more} more, in --json"] if more > 0 else []
        if names:
            listed.append((what, plural(len(others), noun), ", ".join(names)))
    return listed


def left(data: AuditedData) -> str:
    """What of the file is not in the numbers."""
    short = f"; {plural(data.skipped, 'item')} too short" if data.skipped else ""
    return short + (f"; {plural(data.cut, 'token')} cut off" if data.cut else "")


def whole(bits: float) -> str:
    """Bits without decimals, unless they are few."""
    return number(round(bits)) if abs(bits) >= 100 else f"{bits:.3g}"


def draw(result: Audit) -> Figure:
    """Left the items, from the least memorised to the most; right the totals in bits."""
    figure, axes, totals = pictures.canvas(10.0, 4.6, parts=2)
    saved = np.array([item.memorised for item in result.items])
    unseen = np.array(result.non_members)
    if len(unseen):  # the same bins, and shares: there may be fewer non-members
        bins = np.histogram_bin_edges(np.concatenate([saved, unseen]), BINS).tolist()
        for group, colour, name in ((unseen, GREY, "non-members"), (saved, BLUE, "items")):
            share = np.full(len(group), 1 / len(group))
            axes.hist(group, bins, weights=share, color=colour, alpha=0.75, label=name)
        axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
    else:
        axes.hist(saved, BINS, color=BLUE, alpha=0.85)
    axes.axvline(0, color=INK, linewidth=0.9)
    title = f"{result.model.kind} on {result.data.name}"
    x = f"bits memorised of an item ({result.reference.name} minus model)"
    y = "share of items, of non-members" if len(unseen) else "items"
    pictures.entitle(axes, title, x, y, 8.5)
    # bars on a logarithmic axis: what was measured, what the data holds, what could be held
    bars = [("memorised", result.memorised.bits, BLUE)]
    bars.append(("data under the reference", result.reference.bits, GREY))
    for limit in result.limits:
        if limit.bits is not None:
            colour = ORANGE if limit.kind == "rule_of_thumb" else PALE
            bars.append((limit.name, limit.bits, colour))
    shown = [(name, max(value, 1.0), value, colour) for name, value, colour in bars[::-1]]
    names = [name for name, *_ in shown]
    totals.barh(names, [x for _, x, _, _ in shown], color=[colour for *_, colour in shown])
    for place, (_, length, value, _) in enumerate(shown):
        totals.annotate(
            f"{value:,.0f}", (length, place), (3, 0), textcoords="offset points", va="center",
            size=8, color=INK,
        )  # fmt: skip
    totals.set_xscale("log")
    totals.set_xlim(1, 20 * max(x for _, x, _, _ in shown))
    pictures.entitle(totals, "all items, observed", "bits", size=8.5)
    return figure
