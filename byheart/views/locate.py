"""locate as lines: the parameters that an answer reads, or the answers that read a parameter."""

from ..api.locate import Located, Readers
from ..claims.location import Location, Place
from ..machine.tables import number, plural
from .terminal import Group, RenderableType, Text, columns, drawn, listed, right

MAX_SHOWN = 20  # parameters, or items
MAX_NEURONS = 8  # of a token
LISTED = ", listed by --json"


def view(result: Located) -> Group:
    location = result.location
    parts: list[RenderableType] = [
        Text(f"answer  {location.answer.label!r}"),
        Text(f"reads {number(len(location.read))} of {plural(location.of, 'parameter')}"),
        Text(f"  {location.note}"),
    ]
    if location.bits:
        parts.append(Text(f"  bits {', '.join(map(str, location.bits))}, counted from the lowest"))
    parts += [Text(f"  {_written(i, location)}") for i in range(len(location.tokens))][:MAX_SHOWN]
    if location.neurons and not location.tokens:
        parts.append(Text(f"  neurons {', '.join(map(str, location.neurons))}"))
    table = columns("stage", *right("parameters", "read"))
    for stage in result.stages:
        if stage.read:
            table.add_row(Text(stage.stage), number(stage.parameters), number(stage.read))
    parts += [Text(), table, Text()]
    if not location.tokens:
        parts += listed([*map(_named, location.read)], MAX_SHOWN, LISTED)
    if location.changes:
        one = location.changes[0]
        places = " and ".join(map(_named, one.places[:2]))
        if location.tokens:
            lines = [x for x in location.tokens[0].lines if x.tensor == one.places[0].tensor]
            places = " and ".join(f"{x.axis} {x.index} of {_short(x.tensor)}" for x in lines[:2])
        if location.tokens or len(one.places) > 2:
            places = f"{plural(len(one.places), 'number')} ({places})"
        effect = "erases this answer" if one.label is None else f"makes the answer {one.label!r}"
        told = f"changing {places} {effect}, {one.evidence}; other answers may change too"
        parts.append(Text(f"\n{told}"))
        if len(location.changes) > 1:
            others = plural(len(location.changes) - 1, "other change")
            parts.append(Text(f"{others} would do; --json lists them"))
    return Group(*parts, *drawn(result.picture))


def readers_view(result: Readers) -> Group:
    many = f"{number(len(result.items))} of {plural(result.of, 'sequence')}"
    title = Text(f"{_named(result.parameter)} is read by the answers to {many}")
    return Group(title, *listed(result.items, MAX_SHOWN, LISTED))


def _written(index: int, location: Location) -> str:
    """One token of the answer, and the rows and columns that write it."""
    token, names, seen = location.tokens[index], list[str](), ""
    for line in token.lines:
        block, _, last = _short(line.tensor).rpartition(".")
        if line.axis != "entry":
            tensor = last if block == seen else f"{block}.{last}"
            names.append(f"{line.axis} {line.index} of {tensor}")
            seen = block
    where = ", ".join(names) or "no neuron"
    if len(token.neurons) > MAX_NEURONS:
        where = plural(len(token.neurons), "neuron")
    return f"token {index + 1} of {len(location.tokens)}, {token.token!r}: {where}"


def _short(tensor: str) -> str:
    return tensor.removeprefix("transformer.").removeprefix("model.").removesuffix(".weight")


def _named(place: Place) -> str:
    return f"{place.tensor}[{place.row},{place.column}] of layer {place.layer}"
