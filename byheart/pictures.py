"""Picture files: their names, how they are written, and the style of all pictures."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ByheartError
from .machine.files import refuse_existing, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
else:  # imported when a picture is drawn
    Axes = Axis = Figure = Any

ENDINGS = (".svg", ".png", ".pdf")
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "svg.hashsalt": "byheart",  # the same drawing gives the same bytes
    "pdf.fonttype": 42,  # letters stay letters, as journals ask
    "axes.spines.top": False,
    "axes.spines.right": False,
}
DATES = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}}  # leave them out
INK, PALE, FAINT = "#1f2933", "#667280", "#d5dae0"
BLUE, ORANGE, GREEN, GREY = "#3b6ea8", "#d9822b", "#3f8f6b", "#8894a3"


def canvas(width: float, height: float, scale: str = "linear", parts: int = 1) -> tuple[Any, ...]:
    """A figure of this many inches, and its axes, with room for what is written around them."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12)
    figure = Figure(figsize=(width, height), layout=layout)
    places = range(1, parts + 1)
    return figure, *(figure.add_subplot(1, parts, i, xscale=scale, yscale=scale) for i in places)


def entitle(axes: Axes, title: str, x: str, y: str = "", size: float = 9) -> None:
    """The title, at the left, and what the axes mean; a dollar sign is only a dollar sign."""
    title = title.replace("$", r"\$")
    axes.set_title(title, loc="left", size=12.5, weight="bold", color=INK, pad=14)
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    quiet(axes, size)


def legend(figure: Figure, columns: int, size: float) -> None:
    look = {"frameon": False, "fontsize": size, "labelcolor": INK}
    figure.legend(loc="outside lower center", ncols=columns, **look)


def ticks(axis: Axis, places: list[int]) -> None:
    """Ticks at these places and at no others."""
    from matplotlib.ticker import FixedLocator

    axis.set_major_locator(FixedLocator(places))
    axis.set_minor_locator(FixedLocator([]))


def quiet(axes: Axes, size: float = 9) -> None:
    """A faint grid behind everything, and pale axes with numbers of this size."""
    axes.grid(True, color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=PALE, labelsize=size)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(PALE)


def check_picture(path: Path) -> None:
    """Raise ByheartError if a picture cannot have this name, or matplotlib is missing."""
    if path.suffix.lower() not in ENDINGS:
        names = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise ByheartError(f"{path}: a picture's name must end in {names}.")
    if find_spec("matplotlib") is None:
        raise ByheartError("pictures need matplotlib: pip install matplotlib.")


def checked(path: str | Path | None, force: bool) -> Path | None:
    """Where the picture goes, if there is one; refused before any work if it cannot go there."""
    if path is None:
        return None
    check_picture(Path(path))
    refuse_existing(Path(path), force)
    return Path(path)


def write(draw: Callable[..., Figure], result: Any, path: Path) -> None:
    """Draw a picture and write it, as a whole or not at all."""
    from matplotlib import rc_context

    form = path.suffix.lower()[1:]
    with rc_context(STYLE), replacing(path) as file:
        figure = draw(result)
        figure.savefig(file, format=form, dpi=200, metadata=DATES.get(form), facecolor="white")
