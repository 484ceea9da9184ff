"""What a person sees of encoder."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from .output import number


def encoded(answer: dict) -> Group:
    """A row a dimension, and what the rows mean."""
    drawn = [Text(f"\ndrawn in {answer['output']}")] if answer["output"] else []
    title = Text(_named(answer), style="bold")
    return Group(title, Text(), _table(answer), Text(), *_means(answer), *drawn)


def _named(answer: dict) -> str:
    data = answer["dataset"]
    return (
        f"{data['name']}: {number(data['contexts'])} contexts with "
        f"{number(data['distributions'])} distributions over {number(data['vocabulary'])} tokens"
    )


def _table(answer: dict) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("dimension", justify="right", style="cyan")
    for name in ("divergence", "largest"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("encoder")
    table.add_column("seconds", justify="right", style="dim")
    for row in answer["rows"]:
        values = (f"{row[key]:.4g}" for key in ("divergence", "largest"))
        word = Text("exact", "green") if row["exact"] else Text("upper bound")
        table.add_row(
            number(row["dimension"]), *values, word, row["encoder"], f"{row['seconds']:.1f}"
        )
    return table


def _means(answer: dict) -> list[Text]:
    """What exact and upper bound say, and from where on the infimum is 0."""
    words = (
        f"nats a prediction, beside an entropy of {number(answer['entropy'])}",
        f"exact        a closed form: 0 up to the gap of {answer['gap']:g}",
        "upper bound  the best encoder found; there may be better ones",
        f"The infimum is 0 from dimension {number(answer['vanishing'])} on.",
    )
    return [Text(sentence, style="dim") for sentence in words]
