"""explain as a table: the stages of a network, their cost and what they do."""

from ..api.explain import ExplainedStage, Explanation, Totals
from ..machine.tables import number, plural, upto
from ..theory.papers import cited
from .network import first_layer
from .terminal import STYLES, Column, Group, Text, codes, columns, counts, drawn, right, sentences

HEADER = ("statement", "assumptions", "guarantee", "departures")


def view(result: Explanation) -> Group:
    header, totals = result.header, result.totals
    form = f" --form {result.form}" if result.form else ""
    title = f"{result.method}{form} on {result.name}: {counts(result.dataset)}"
    reads, gives, size = _of_network(result) if result.decoder is None else _of_decoder(result)
    names = right("layers", "depth", "nonzero", "dense", "digits", "share", no_wrap=True)
    costs = columns(Column("stage", style="cyan", no_wrap=True), *names)
    for stage in result.stages:
        runs = stage.runs
        layers = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
        if len(runs) > 2:  # too many to name
            layers = f"{runs[0][0]}-{runs[-1][1]}, in {len(runs)} runs"
        costs.add_row(stage.name, layers, *_costs(stage), f"{stage.share:.1%}")
    costs.add_row("all", "", *_costs(totals), "", style="bold")
    about = {name: getattr(header, name) for name in HEADER}
    evidence, verified = [], result.verified
    if verified is not None:
        unit = "label" if result.decoder is None else "context"
        within = "" if result.decoder is None else " within the gap"
        checked = f"{number(verified.correct)} of {plural(verified.checked, unit)}{within}"
        style = STYLES.get(verified.evidence or "", "")
        evidence = [Text(f"{verified.evidence}  {checked}", style=style)]
    return Group(
        Text(title, style="bold"),
        Text(f"in   {reads}\nout  {gives}", style="dim"),
        Text(),
        costs,
        Text(),
        Text(size),
        *evidence,
        Text(),
        sentences((stage.name, stage.does) for stage in result.stages),
        Text(),
        Text(cited(f"{header.paper}, {header.item}"), style="bold"),
        sentences((name, codes(text)) for name, text in about.items()),
        *drawn(result.picture),
    )


def _costs(part: ExplainedStage | Totals) -> list[str]:
    return [number(x) for x in (part.depth, part.nonzero, part.dense, part.bits)]


def _of_network(result: Explanation) -> tuple[str, str, str]:
    """What goes into a network that stores labels, what comes out, and what the theorem counts."""
    reads, gives = result.input, result.output
    parts = [f"{plural(reads.columns, 'column')} of {plural(reads.dimension, 'coordinate')}"]
    if reads.positions:
        parts.append("with their positions")
    fill = "not padded" if reads.padding is None else f"padded with {reads.padding}"
    parts.append(f"shorter sequences {fill}")
    if reads.extra is not None:
        parts.append(f"an extra token {reads.extra} in front")
    pairs = sum(stage.connections or 0 for stage in result.stages)
    if pairs:
        parts.append(plural(pairs, "connection"))
    where = "every token's column" if gives.every else "the last column"
    if any(stage.kind == "sum" for stage in result.stages):
        where = "the sum"
    unknown = ', or "unknown"' if gives.unknown else ""
    size = (
        f"the theorem counts {number(result.totals.counted)} of the nonzero parameters; "
        f"{number(result.totals.outside)} are outside: {first_layer(result)} and E_out"
    )
    return ", ".join(parts), f"one of {counts(gives, 'label')} from {where}{unknown}", size


def _of_decoder(result: Explanation) -> tuple[str, str, str]:
    """The same for a decoder, which stores distributions; its size beside the fewest (eq. (3))."""
    decoder = result.decoder
    assert decoder is not None
    shape = decoder.shape
    letters = {"omega": shape.vocabulary, "T": shape.length, "d": shape.dimension}
    letters |= {"m": shape.neurons} if shape.neurons else {}
    if shape.heads:
        letters |= {"m_0": shape.heads, "d_0": shape.value_dimension, "d_1": shape.key_dimension}
    sizes = ", ".join(f"{letter} = {number(size)}" for letter, size in letters.items())
    parameters = f"parameters: {decoder.formula} = {number(result.totals.dense)}"
    ratio = (
        f"\nratio (3): {number(decoder.ratio)} times (omega - 1) m, the fewest with which a "
        "model can give m contexts any distributions"
    )
    kind = {"string": "words", "number": "integers"}[result.input.tokens]
    return (
        f"{upto(1, result.input.length, 'token')} ({kind}), order counts",
        f"the probability of each of {plural(result.output.labels, 'token')} to come next",
        f"{parameters}\nwith {sizes}" + (ratio if decoder.ratio is not None else ""),
    )
