"""size as a few lines: what each way of having the data in a model takes."""

from ..api.size import Sizes
from ..machine.tables import number, plural
from .terminal import Group, RenderableType, Table, Text


def view(result: Sizes) -> Group:
    about = f"{plural(result.contexts, 'context')}, {plural(result.labels, 'label')}"
    if result.conflicts:
        about += f"; {plural(result.conflicts, 'context')} with several labels"
    parts: list[RenderableType] = [Text(f"{result.name}: {about}", style="bold")]
    table = Table.grid(padding=(0, 2))
    for line in result.lines:
        sign = "≥" if line.name.startswith("at least") else "about"
        size = " to ".join(dict.fromkeys(number(rounded(x)) for x in line.parameters))
        told = [
            f"{sign} {size} parameters" if size else "none",
            line.neurons is not None and plural(line.neurons, "neuron"),
            line.bits is not None and plural(line.bits, "bit"),
            line.bytes is not None and in_bytes(line.bytes),
            line.seconds is not None and duration(line.seconds),
            line.source if line.seconds is None else "",
        ]
        table.add_row(line.name, Text(", ".join(x for x in told if x)))
    parts.append(table)
    found = result.exact.applies and "byheart compile DATA -o DIR builds it and proves it"
    return Group(*parts, *([Text(f"{found}.", style="dim")] if found else []))


def in_bytes(count: int) -> str:
    """A size on the disk.

    >>> in_bytes(812), in_bytes(48_210), in_bytes(1_612_000)
    ('812 bytes', '48 kB', '1.6 MB')
    """
    for size, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:{'.2g' if count < 100 * size else '.0f'}} {name}"
    return plural(count, "byte")


def rounded(count: int) -> int:
    """With three digits.

    >>> rounded(123456), rounded(12)
    (123000, 12)
    """
    return int(float(f"{count:.3g}"))


def duration(seconds: float) -> str:
    """In words, in order of magnitude.

    >>> duration(1.2), duration(100), duration(9000)
    ('a second', '2 minutes', '2 hours')
    """
    for size, name in ((3600, "hour"), (60, "minute"), (1, "second")):
        if (count := round(seconds / size)) >= 1:
            return f"{'an' if name == 'hour' else 'a'} {name}" if count == 1 else f"{count} {name}s"
    return "a second"
