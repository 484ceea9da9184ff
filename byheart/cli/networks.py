"""What a person sees of explain and tradeoff."""

from collections.abc import Iterable

from rich.console import Group
from rich.table import Table
from rich.text import Text

from .distributions import STYLES
from .output import codes, number, stores_distributions


def explained(answer: dict) -> Group:
    """The stages with their cost, what each does, what goes in and out, and the theorem."""
    does = _grid((stage["stage"], stage["does"]) for stage in answer["stages"])
    keys = ("statement", "assumptions", "guarantee", "departures")
    header = _grid((key, codes(answer[key])) for key in keys)
    found = answer["verified"]
    what = "contexts within the gap" if stores_distributions(answer) else "labels"
    checked = (
        f"{found['evidence']}  {number(found['correct'])} of {number(found['checked'])} {what}"
    )
    return Group(
        Text(_named(answer), style="bold"), _ends(answer), Text(), _costs(answer), Text(),
        Text(_counted(answer)), Text(checked, style=STYLES.get(found["evidence"], "")), Text(),
        does, Text(), Text(f"{answer['paper']}, {answer['item']}", style="bold"), header,
        *_pictured(answer),
    )  # fmt: skip


def _costs(answer: dict) -> Table:
    """A row a stage, and their sum."""
    keys = ("depth", "nonzero", "dense", "bits")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("stage", style="cyan", no_wrap=True)
    for name in ("layers", *keys, "share"):
        table.add_column(name, justify="right", no_wrap=True)
    for stage in answer["stages"]:
        sizes = [number(stage[key]) for key in keys]
        table.add_row(stage["stage"], _layers(stage["layers"]), *sizes, f"{stage['share']:.1%}")
    table.add_row("all", "", *(number(answer["totals"][key]) for key in keys), "", style="bold")
    return table


def _grid(lines: Iterable[tuple[str, str]]) -> Table:
    """Names, and sentences beside them."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for name, sentence in lines:
        table.add_row(Text(name), Text(sentence))
    return table


def _named(answer: dict) -> str:
    data = answer["dataset"]
    form = f" --form {answer['form']}" if answer.get("form") else ""
    return (
        f"{answer['method']}{form} on {data['name']}: {number(data['sequences'])} sequences, "
        f"{number(data['contexts'])} contexts, {number(data['labels'])} labels"
    )


def _layers(runs: list) -> str:
    """Runs of layers; many are too many to name."""
    if len(runs) > 2:
        return f"{runs[0][0]}-{runs[-1][1]}, in {len(runs)} runs"
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _counted(answer: dict) -> str:
    totals = answer["totals"]
    if stores_distributions(answer):
        return _formula(answer)
    first = "the embedding" if answer["stages"][0]["kind"] == "embedding" else "E_in"
    return (
        f"the theorem counts {number(totals['counted'])} of the nonzero parameters; "
        f"{number(totals['outside'])} are outside: {first} and E_out"
    )


def _formula(answer: dict) -> str:
    """The parameters that the paper counts, and how far they are from the fewest (eq. (3))."""
    shape = answer["shape"]
    names = {"omega": "vocabulary", "T": "length", "d": "dimension"}
    names |= {"m": "neurons"} if shape["neurons"] else {}
    if shape["heads"]:
        names |= {"m_0": "heads", "d_0": "value_dimension", "d_1": "key_dimension"}
    sizes = ", ".join(f"{letter} = {number(shape[name])}" for letter, name in names.items())
    ratio = (
        f"\nratio (3): {number(answer['ratio'])} times (omega - 1) m, the fewest with which a "
        "model can give m contexts any distributions"
    )
    counted = f"parameters: {answer['formula']} = {number(answer['totals']['dense'])}"
    return f"{counted}\nwith {sizes}" + (ratio if answer["ratio"] is not None else "")


def _ends(answer: dict) -> Text:
    """What goes in and what comes out, in two lines."""
    return Text(f"in   {_reads(answer)}\nout  {_gives(answer)}", style="dim")


def _reads(answer: dict) -> str:
    reads = answer["input"]
    if stores_distributions(answer):
        kind = {"string": "words", "number": "integers"}[reads["tokens"]]
        return f"1 to {number(reads['length'])} tokens ({kind}), order counts"
    size = f"{reads['dimension']} coordinate" + ("s" if reads["dimension"] > 1 else "")
    parts = [f"{number(reads['columns'])} columns of {size}"]
    if reads["positions"]:
        parts.append("with their positions")
    fill = "not filled up" if reads["padding"] is None else f"filled up with {reads['padding']}"
    parts.append(f"shorter sequences {fill}")
    if reads["extra"] is not None:
        parts.append(f"an extra token {reads['extra']} in front")
    pairs = sum(stage["connections"] or 0 for stage in answer["stages"])
    return ", ".join(parts) + (f", {number(pairs)} connections" if pairs else "")


def _gives(answer: dict) -> str:
    gives = answer["output"]
    if stores_distributions(answer):
        return f"the chance of each of {number(gives['labels'])} tokens to come next"
    where = "every token's column" if gives["every"] else "the last column"
    if any(stage["kind"] == "sum" for stage in answer["stages"]):
        where = "the sum"
    unknown = ', or "unknown"' if gives["unknown"] else ""
    return f"one of {number(gives['labels'])} labels from {where}{unknown}"


def _pictured(answer: dict) -> list[Text]:
    return [Text(f"\ndrawn in {answer['picture']}")] if answer["picture"] else []


def traded(answer: dict) -> Group:
    """A row a limit, and the network without one."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("bits a parameter", justify="right", style="cyan")
    table.add_column("form")
    for name in ("nonzero", "all bits", "longest", "depth"):
        table.add_column(name, justify="right")
    table.add_column("", style="dim")
    keys = ("nonzero", "total", "largest", "depth")
    for row in answer["rows"]:
        remark = row["reason"] or row["evidence"]
        sizes = [number(row[key]) for key in keys]
        table.add_row(number(row["bits"]), row["form"], *sizes, Text(remark))
    plain = answer["plain"]
    table.add_row(
        "no limit", plain["method"], *(number(plain[key]) for key in keys), plain["evidence"]
    )
    limit = Text(f"\ninformation: {number(round(answer['information']))} bits", "dim")
    return Group(Text(_named(answer), style="bold"), Text(), table, limit, *_pictured(answer))
