"""methods: the constructions, as their file headers describe them, and their options."""

from ..api.methods import methods
from ..views.methods import view
from .declaring import argument, taking
from .options import JSON, METHODS
from .output import finish


@taking(argument("name", "One method, with its options.", str, None, "[NAME]", METHODS), JSON)
def command(name: str | None, json: bool) -> None:
    """The constructions: paper, assumptions, guarantee. With NAME, the options of one."""
    finish(methods(name), json, view)
