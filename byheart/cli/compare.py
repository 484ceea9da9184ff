"""What a person sees of compare."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .distributions import STYLES
from .output import number

SIGNS = {"at_least": "≥", "at_most": "≤"}
FOLDERS = ("trained", "saved")  # kinds of models that --with names


def compared(answer: dict) -> Group:
    """The table of each step, and at the end what does not apply."""
    steps = answer["sweep"] or [{"dataset": answer["dataset"], "rows": answer["rows"]}]
    name = answer["dataset"]["name"]
    parts = [part for step in steps for part in _step(name, step)]
    drawn = [Text(f"drawn in {answer['picture']}")] if answer["picture"] else []
    return Group(*parts, *_left(answer["rows"]), *_means(answer), *drawn)


def _step(name: str, step: dict) -> list[RenderableType]:
    data = step["dataset"]
    title = (
        f"{name}: {number(data['sequences'])} sequences, {number(data['contexts'])} contexts, "
        f"{number(data['labels'])} labels"
    )
    return [Text(title, style="bold"), Text(), _table(step["rows"]), Text()]


def _table(rows: list[dict]) -> Table:
    """What applies, without rates: a construction has a size, a bound a direction."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("parameters", "bits", "depth", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("evidence", no_wrap=True)
    table.add_column("")
    for row in rows:
        if row["applies"] and not _is_rate(row):
            table.add_row(*_sizes(row), _evidence(row), _name(row))
    return table


def _is_rate(row: dict) -> bool:
    return row["kind"] == "bound" and row["parameters"] is None and row["bits"] is None


def _sizes(row: dict) -> list[str]:
    sign = f"{SIGNS[row['direction']]} " if row["kind"] == "bound" else ""
    sizes = [row[key] for key in ("parameters", "bits")]
    shown = [f"{sign}{_rounded(size)}" if size is not None else "-" for size in sizes]
    seconds = "-" if row["seconds"] is None else f"{row['seconds']:.1f}"
    return [*shown, number(row["depth"]), seconds]


def _rounded(size: float) -> str:
    return number(round(size) if isinstance(size, float) and size >= 1000 else size)


def _evidence(row: dict) -> Text:
    word = row["evidence"]
    return Text(word, style=STYLES.get(word, "")) if word else Text("-", style="dim")


def _name(row: dict) -> Text:
    text = Text(row["name"], style="dim" if row["kind"] == "bound" else "cyan")
    unknown = row["kind"] == "construction" and row["parameters"] is None
    said = unknown or row["kind"] in FOLDERS
    return text.append(f"  {row['reason']}", "dim") if said else text


def _left(rows: list[dict]) -> list[RenderableType]:
    """Constructions and models that do not apply, and why; bounds are left to `byheart bounds`."""
    left = [row for row in rows if not row["applies"] and row["kind"] != "bound"]
    if not left:
        return []
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(style="dim")
    for row in left:
        table.add_row(row["name"], Text(row["reason"]))
    return [Text("Does not apply", style="bold"), table, Text()]


def _means(answer: dict) -> list[Text]:
    built = (
        "measured" if answer["built"] else "predicted, nothing was built: use --build to measure"
    )
    words: tuple[str, ...] = (
        f"Constructions are {built}. Of exact networks the parameters that are not 0 count, of "
        "decoders all.",
        "≥ bounds: with fewer it is impossible, for the worst labels or distributions; ≤ bounds: "
        "so many are enough (kajitsuka2025 does not count E_in, E_out and the embedding). Rates, "
        "and bounds that do not apply: byheart bounds --dataset.",
    )
    if any(row["kind"] == "trained" for row in answer["rows"]):
        words += (
            "Of a trained model the parameters that were trained count; bits are those of the "
            "certified network.",
        )
    return [Text(sentence, style="dim") for sentence in words]
