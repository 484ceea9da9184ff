"""audit as a verdict, rows and a picture: what a model holds of a file."""

import math

import numpy as np

from .. import pictures
from ..auditing.answer import Audit, AuditedData, AuditedModel
from ..machine.strict import shown
from ..machine.tables import number, plural
from ..machine.words import brief
from ..pictures import BLUE, FAINT, GREEN, GREY, INK, ORANGE, PALE, Axes, Figure
from ..theory.item import SIGNS
from .terminal import STYLES, Group, RenderableType, Row, Text, notes, rows

BINS = 20
SHOWN = 4  # files by name
COLOURS = (BLUE, ORANGE, "#7a4fa3", GREEN, "#b5485d", GREY)  # of scores


def view(result: Audit, all: bool = False) -> Group:
    verdict = Text("observed", style=STYLES["observed"])
    verdict.append(f"  {result.verdict}", "default")
    first = [Text(f'item 1 was asked as "{result.asked}"', style="dim")] if result.asked else []
    parts: list[RenderableType] = [*first, verdict, Text(), rows(lines(result, all))]
    parts += notes(result.notes)
    places = {
        "report in": result.report,
        "table per item in": result.table_file,
        "finished batches in": result.resumed,
        "drawn in": result.picture,
    }
    parts += [Text(f"{words} {place}") for words, place in places.items() if place]
    return Group(*parts)


def lines(result: Audit, all: bool = False) -> list[Row]:
    """Name, value and what it means."""
    extraction, seconds = result.extraction, result.seconds
    after = "given the input"
    if extraction.prefix is not None:
        after = f"after {extraction.prefix} tokens, at most {extraction.suffix} recited"
    if extraction.common is not None:
        after += f"; {extraction.common:.3g} recited on average before the first error"
    share = f"{number(extraction.verbatim)} of {number(extraction.asked)}"
    likeliest = "of predicted tokens, by the likeliest one"
    listed = _sizes(result)
    for limit in result.limits:
        if limit.contexts is not None and not all:
            continue
        amount = f"{SIGNS[limit.direction or 'at_most']} {number(limit.contexts)}"
        about = f"contexts, {limit.name}: {limit.reason}"
        if limit.bits is not None:
            thumb = limit.kind == "rule_of_thumb"
            amount = f"{'about' if thumb else '≤'} {whole(limit.bits)}"
            used = f"{limit.share:.1%} used; " if limit.share and limit.share > 0 else ""
            about = f"bits, {limit.name}; {used}"
            about += "measured on trained models" if thumb else "theorem"
        listed.append(("could hold", amount, about))
    if len(result.wordings) > 1:
        for wording in result.wordings:
            told = f"items recited; the best wording for {number(wording.best)}: {wording.pattern}"
            listed.append(("asked", number(wording.verbatim), f"{wording.name}: {told}"))
    listed.append(("verbatim", share, after))
    if extraction.curve:
        some = extraction.curve[1:6:2]
        told = ", ".join(f"{number(x.items)} in {number(x.samples)}" for x in some)
        n = f"items within so many samples with probability {extraction.probability:g}: {told}"
        listed.append(("sampled", number(extraction.curve[2].items), f"in 100 samples; {n}"))
    if extraction.near is not None:
        within = f"{number(extraction.within)} of {number(extraction.asked)}"
        edits = f"generated with at most {plural(extraction.near, 'edit')} of a token"
        listed.append(("near-verbatim", within, edits))
    listed.append(("accuracy", f"{result.accuracy:.2%}", likeliest))
    listed += _membership(result)
    speed = f"s to score, {number(round(seconds.tokens_per_second))} tokens per second"
    if not seconds.tokens_per_second:
        speed = "s: every batch was scored before"
    return [*listed, ("time", f"{seconds.score:.1f}", speed)]


def _membership(result: Audit) -> list[Row]:
    test = result.membership
    if test is None:
        return []
    saved = test.saved
    other = f"bits; {saved.non_members:.3g} of a non-member's token, none of which is memory"
    listed: list[Row] = [("saved per token", f"{saved.items:.3g}", other)]
    for score in test.scores:
        told = f"{score.name}: 95 % interval {score.low:.3f} to {score.high:.3f}"
        for rate in score.rates:
            if rate.true is not None and rate.low is not None and rate.high is not None:
                told += f"; finds {rate.true:.0%} ({rate.low:.0%} to {rate.high:.0%})"
                told += f" at {100 * rate.false:g} % false alarms"
        listed.append(("AUC", f"{score.auc:.3f}", told))
    missing = [rate for rate in test.scores[0].rates if rate.true is None]
    for rate in missing[:1]:
        needs = f"{100 * rate.false:g} % false alarms need {number(rate.needs)} non-members"
        listed.append(("non-members", number(test.non_members), f"{needs}: no rate is given"))
    for name, exposure, about in (
        ("exposure", test.exposure, "by the model's log-perplexity"),
        ("against reference", test.against, "exposure by what is saved against it"),
    ):
        if exposure is not None:
            most = f"largest {exposure.largest:.3g} of {exposure.possible:.3g} possible"
            listed.append((name, f"{exposure.mean:.3g}", f"bits on average, {about}; {most}"))
    return listed


def _sizes(result: Audit) -> list[Row]:
    model, data, memorised = result.model, result.data, result.memorised
    error, share, beyond = memorised.standard_error, memorised.share, memorised.beyond
    counted, stored = "tied ones counted once", f"as loaded, in {model.dtype}"
    if model.compiled:
        counted, stored = "those that are not 0", "of the whole network, as one code word"
    single = data.labelled and data.predicted == data.items
    predicted = plural(data.predicted, "label" if single else "token")
    if data.labelled and not single:
        predicted += " of labels"
    uniform = f"bits, if tokens were uniform over {number(model.vocabulary)}"
    saved = "bits: reference minus model"
    saved += f", {share:.1%} of it" if share is not None and result.reference.knows else ""
    saved += f"; standard error {whole(error)}" if error is not None else ""
    # against a reference that knows no language, what is saved on a text is no memory yet
    word = "memorised" if result.reference.knows else "saved"
    listed: list[Row] = [
        ("parameters", number(model.parameters), f"{model.kind}; {counted}"),
        ("stored bits", number(model.stored_bits), stored),
        *_files(model),
        ("items", number(data.items), f"{predicted} predicted{left(data)}"),
    ]
    if not data.text:
        listed.append(("information", whole(data.information), uniform))
    listed += [
        ("code length", whole(result.code_length), "bits under the model"),
        ("reference", whole(result.reference.bits), f"bits under {result.reference.name}"),
        (word, whole(memorised.bits), saved),
    ]
    held = memorised.per_parameter
    if beyond is not None:
        told = "bits more than as many tokens of non-members save"
        if beyond.low is not None and beyond.high is not None:
            told += f"; 95 % interval {whole(beyond.low)} to {whole(beyond.high)}"
        listed.append(("beyond non-members", whole(beyond.bits), told))
        held = beyond.per_parameter
    else:
        listed.append(("clamped", whole(memorised.clamped), "bits: the sum over items above 0"))
    if beyond is not None or result.reference.knows:
        each = f"bits; {held * model.parameters / model.stored_bits:.4g} per stored bit"
        listed.append(("per parameter", f"{held:.4g}", each))
    return listed


def _files(model: AuditedModel) -> list[Row]:
    """Which weights were loaded, and what in the folder was not opened or not run."""
    listed: list[Row] = [
        ("weights", f"file {i} of {len(model.weights)}", f"{x.file}, SHA-256 {x.sha256}")
        for i, x in enumerate(model.weights[:SHOWN], 1)
    ]
    if model.adapter is not None:
        one = model.adapter
        told = f"of rank {one.rank} for {plural(one.matrices, 'matrix')}, {number(one.parameters)} "
        told += f"parameters; {one.weights[0].file}, SHA-256 {one.weights[0].sha256}"
        listed.append(("adapter", "added", told.replace("matrixs", "matrices")))
    if len(model.weights) > SHOWN:
        listed.append(("weights", f"{len(model.weights) - SHOWN} more", "files; --json has all"))
    for what, noun, rest in (("not read", "file", model.unread), ("not run", "class", model.code)):
        names = [shown(name)[1:-1] for name in rest[:SHOWN]]
        more = len(rest) - SHOWN
        names += [f"{more} more, in --json"] if more > 0 else []
        if names:
            listed.append((what, plural(len(rest), noun), ", ".join(names)))
    return listed


def left(data: AuditedData) -> str:
    """What of the file is not in the numbers."""
    short = f"; {plural(data.skipped, 'item')} too short" if data.skipped else ""
    return short + (f"; {plural(data.cut, 'token')} cut off" if data.cut else "")


def whole(bits: float) -> str:
    """Bits without decimals, unless they are few."""
    return number(round(bits)) if abs(bits) >= 100 else f"{bits:.3g}"


def draw(result: Audit) -> Figure:
    """The items from the least memorised to the most, the totals in bits, and every ROC."""
    further = ((_roc, result.ranked), (_sampled, result.extraction.curve))
    more = [part for part, known in further if known]
    figure, *parts = pictures.canvas(5 + 4.7 * (1 + len(more)), 4.6, parts=2 + len(more))
    axes, totals = parts[:2]
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
    word = "memorised" if result.reference.knows else "saved"
    x = f"bits {word} of an item (reference minus model)"
    y = "share of items, of non-members" if len(unseen) else "items"
    pictures.entitle(axes, f"{result.model.kind} on {brief(result.data.name)}", x, y, 8.5)
    # bars on a logarithmic axis: what was measured, what the data holds, what could be held
    beyond = result.memorised.beyond
    bars = [(word, result.memorised.bits, BLUE)]
    bars += [("beyond non-members", beyond.bits, BLUE)] if beyond is not None else []
    bars.append(("data under the reference", result.reference.bits, GREY))
    for limit in result.limits:
        if limit.bits is not None:
            colour = ORANGE if limit.kind == "rule_of_thumb" else PALE
            bars.append((limit.name.replace(", ", ",\n"), limit.bits, colour))
    names, values, colours = zip(*bars[::-1], strict=True)
    lengths = [max(value, 1.0) for value in values]
    drawn = totals.barh(names, lengths, color=colours)
    totals.bar_label(drawn, [f"{value:,.0f}" for value in values], padding=3, size=8, color=INK)
    totals.set_xscale("log")
    most = max(lengths)
    totals.set_xlim(1, most ** (1.3 + 0.35 / max(1.0, math.log10(most))))  # room for the numbers
    pictures.entitle(totals, "all items, observed", "bits (logarithmic)", size=8.5)
    for part, its_axes in zip(more, parts[2:], strict=True):
        part(its_axes, result)
    return figure


def _sampled(axes: Axes, result: Audit) -> None:
    """The share of items among n samples with the probability asked for, over n; and by greedy."""
    extraction = result.extraction
    shares = [point.items / extraction.asked for point in extraction.curve]
    samples = [x.samples for x in extraction.curve]
    axes.plot(samples, shares, "o-", color=BLUE, label=f"n samples, p = {extraction.probability:g}")
    greedy = extraction.verbatim / extraction.asked
    axes.axhline(greedy, color=ORANGE, linestyle="--", linewidth=1.3, label="greedy decoding")
    axes.set_xscale("log")
    axes.set_ylim(-0.02, 1.04)
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK, loc="best")
    pictures.entitle(axes, "verbatim, by samples", "samples n", "share of items", 8.5)


def _roc(axes: Axes, result: Audit) -> None:
    """The share of items found against the share of false alarms, both on logarithmic axes."""
    least, lowest = 0.5 / len(result.non_members), 1.0
    for one, colour in zip(result.ranked, COLOURS, strict=False):
        limits = np.unique(np.concatenate([one.items, one.non_members]))[::-1]
        found, false = (
            1 - np.searchsorted(np.sort(x), limits, side="left") / len(x)
            for x in (one.items, one.non_members)
        )
        lowest = min(lowest, float(found[found > 0].min()))
        axes.step(np.maximum(false, least), np.maximum(found, 1e-9), where="post", color=colour,
                  linewidth=1.5, label=one.name)  # fmt: skip
    axes.plot([least, 1], [least, 1], color=FAINT, linewidth=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(least, 1)
    axes.set_ylim(lowest / 2, 1.1)
    axes.legend(frameon=False, fontsize=8, labelcolor=INK, loc="lower right")
    words = "told from non-members", "false positive rate", "true positive rate"
    pictures.entitle(axes, *words, 8.5)
