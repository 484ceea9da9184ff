"""statements: what the papers state, and where byheart shows it."""

from ..api.statements import statements
from ..theory.statements import PAPERS
from ..views.statements import view
from .declaring import JSON, argument, taking
from .output import finish


@taking(argument("paper", f"{', '.join(PAPERS)}.", str, None, "[PAPER]", PAPERS), JSON)
def command(paper: str | None, json: bool) -> None:
    """Every numbered statement of the papers, and the command that shows it."""
    finish(statements(paper), json, view)
