"""diff of two checkpoints as tables and a picture."""

from collections import Counter

from .. import pictures
from ..auditing.comparing import CheckpointDiff, ItemChange
from ..machine.tables import number, plural
from ..machine.words import brief
from ..pictures import Figure
from .terminal import Column, Group, RenderableType, Text, columns, drawn, listed, right

MAX, ITEMS = 30, 10  # that are listed
LETTERS = 60


def view(result: CheckpointDiff) -> Group:
    parts: list[RenderableType] = []
    shown = [x for x in result.tensors if not (x.how or "").startswith("rounded")]
    if shown:
        heads = right("differ", "of", "relative", "largest", "rank", "99 %")
        table = columns(Column("tensor", overflow="fold"), "type", *heads)
        for one in shown[:MAX]:
            kinds = one.types[1] if len({*one.types}) == 1 else " to ".join(one.types)
            sizes = (one.changed, one.numbers, one.relative, one.largest, one.rank, one.energy)
            table.add_row(Text(brief(one.name, LETTERS)), Text(kinds), *map(number, sizes))
        parts += [table, *listed(shown[MAX:], 0, " in --json"), Text()]
    hows = Counter(one.how for one in result.tensors if one.how)
    parts += [Text(f"{how}: {plural(count, 'tensor')}") for how, count in hows.items()]
    tensors = plural(len(result.tensors), "tensor")
    verb = "differs" if len(result.tensors) == 1 else "differ"
    are = "is" if result.equal == 1 else "are"
    told = f"{tensors} {verb}, {number(result.equal)} {are} equal; "
    told += f"{number(result.changed)} of {plural(result.numbers, 'number')} "
    parts.append(Text(told + ("differs" if result.changed == 1 else "differ")))
    if result.same:
        parts.append(Text("the two are equal: weights, config and tokenizer"))
    for which, names in (("first", result.before_only), ("second", result.after_only)):
        if names:
            parts.append(Text(f"only in the {which}: {plural(len(names), 'tensor')}"))
            parts += listed([brief(x, LETTERS) for x in names], MAX)
    parts += [Text(f"moved: {brief(x, LETTERS)} is {brief(y, LETTERS)}") for x, y in result.moved]
    parts += [Text(f"tied: {brief(line, 3 * LETTERS)}") for line in result.ties]
    parts += [
        Text(f"config: {brief(key)} {brief(x)}, then {brief(y)}") for key, x, y in result.config
    ]
    parts += [Text(f"tokenizer: {brief(line, 2 * LETTERS)}") for line in result.tokenizer]
    if result.items is not None:
        parts += _items(result.items, result.asked)
    return Group(*parts, *drawn(result.picture))


def _items(items: tuple[ItemChange, ...], asked: int) -> list[RenderableType]:
    answers = sum(x.before.answer != x.after.answer for x in items)
    ranks = sum(x.before.rank != x.after.rank for x in items)
    told = f"of {plural(asked, 'item')}: {number(answers)} with another answer, "
    told += f"{number(ranks)} with another rank, {number(len(items))} with any change"
    order = sorted(items, key=lambda x: -abs(x.after.bits - x.before.bits))
    lines = [
        f"item {x.item}: {brief(x.before.answer)!r} then {brief(x.after.answer)!r}, rank "
        f"{number(x.before.rank)} then {number(x.after.rank)}, "
        f"{x.before.bits:.1f} then {x.after.bits:.1f} bits"
        for x in order
    ]
    return [Text(f"\n{told}"), *listed(lines, ITEMS, " in --json")]


def draw(result: CheckpointDiff) -> Figure:
    """Each tensor that differs as a bar: the norm of its change over its own."""
    shown = result.tensors[:MAX]
    figure, axes = pictures.canvas(9, 1.8 + 0.3 * max(1, len(shown)))
    sizes = [one.relative or 0.0 for one in shown]
    bars = axes.barh(range(len(shown)), sizes, color=pictures.ORANGE)
    axes.set_yticks(range(len(shown)), [brief(one.name, LETTERS) for one in shown])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.35 * max([*sizes, 1e-12]))
    ranks = ("" if one.rank is None else f", rank {one.rank:,}" for one in shown)
    words = [f"{one.changed:,}{rank}" for one, rank in zip(shown, ranks, strict=True)]
    axes.bar_label(bars, words, padding=3, size=8, color=pictures.INK)
    title = f"{len(result.tensors):,} tensors differ, {result.equal:,} are equal"
    pictures.entitle(axes, title, "norm of the change over the norm of the tensor")
    return figure
