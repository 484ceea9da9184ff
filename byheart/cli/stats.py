"""stats: what a dataset asks of a model."""

from rich.console import Group
from rich.text import Text

from ..data.statistics import stats
from .options import Data, Json, Loading, reading
from .output import finish, number, plural, rows
from .progress import watching


@reading
def command(data: Data, loading: Loading, json: Json = False) -> None:
    """Count the contexts and conflicts of a dataset, its entropy and separation.

    Documents (.txt, .bin) are counted in place, so 200 million tokens of a .bin are fine.
    """
    with watching() as watch:
        answer = stats(data, watch=watch, **loading).json()
    finish(answer, json, view)


def view(answer: dict) -> Group:
    conflicts, entropy, apart = answer["conflicts"], answer["entropy"], answer["separation"]
    both = f"contexts with two labels; {number(conflicts['multisets'])} if order does not count"
    each = f"nats; {number(entropy['per_token'])} per prediction"
    known = "nats, if only their frequencies are known"
    lines = [
        ("sequences", number(answer["sequences"]), plural(answer["tokens"], "token")),
        ("contexts", number(answer["contexts"]), "ordered"),
        ("multisets", number(answer["multisets"]), "contexts if order does not count"),
        ("vocabulary", number(answer["vocabulary"]), ""),
        ("labels", number(answer["labels"]), ""),
        ("conflicts", number(conflicts["contexts"]), both),
        ("best accuracy", f"{answer['best_accuracy']:.2%}", "with one label per context"),
        ("entropy", number(entropy["total"]), each),
        ("of labels", number(entropy["labels"]), known),
    ]
    if apart["radius"] is not None:
        lines.append(("radius", number(apart["radius"]), "largest norm of a token"))
        lines.append(("distance", number(apart["distance"]), "between the two nearest tokens"))
    if answer["skipped"]:
        lines.append(("skipped", number(answer["skipped"]), "documents under two tokens"))
    curve = "  ".join(f"{epsilon:g}: {number(count)}" for epsilon, count in answer["t_epsilon"])
    return Group(rows(lines), Text(f"T_epsilon      {curve}"))
