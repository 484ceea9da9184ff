"""methods: the constructions as a table, and their classes by name."""

from dataclasses import dataclass, field
from typing import Any

from ..claims.result import Result, picked, plain
from ..constructions import ALL, METHODS, REGISTRY, construct, named
from ..constructions.base import Construction
from ..errors import ByheartError
from ..machine.tables import html_table
from .configure import titled


@dataclass(frozen=True)
class MethodOption(Result):
    """An option of a method; `type` is the name of its type: bool, int, float or str."""

    name: str
    type: str
    default: object
    choices: tuple[str, ...]
    help: str


@dataclass(frozen=True, repr=False)
class Method:
    """One construction as `byheart methods` shows it: the theorem, and its options."""

    construction: Construction = field(repr=False)

    @property
    def name(self) -> str:
        return self.construction.name

    @property
    def form(self) -> str | None:
        return self.construction.form

    @property
    def options(self) -> dict[str, str]:
        """One sentence per option, by name."""
        return {option.name: option.help for option in self.details}

    @property
    def details(self) -> tuple[MethodOption, ...]:
        """All that there is to say about its options."""
        described = []
        for name, one in self.construction.options().items():
            kind, about = self.construction.option_type(name).__name__, one.metadata["option"]
            described.append(MethodOption(name, kind, one.default, about.choices, about.help))
        return tuple(described)

    @property
    def title(self) -> str:
        return titled(self.construction)

    def json(self) -> dict:
        header = picked(self.construction.header, "paper item assumptions guarantee")
        return {**picked(self, "method=name form"), **header}

    def __repr__(self) -> str:
        header = self.construction.header
        lines = [f"{self.title}: {header.summary}", f"  {header.paper}, {header.item}"]
        return "\n".join(lines + [f"  {x.name}: {x.help}" for x in self.details])


class MethodTable(tuple[Method, ...]):
    """Several methods; `.json()` is what `byheart methods --json` says."""

    @property
    def single(self) -> bool:
        """Whether these are the forms of one method: their options are shown then."""
        return len({method.name for method in self}) == 1

    def json(self) -> dict:
        rows = [method.json() for method in self]
        if self.single:
            for row, method in zip(rows, self, strict=True):
                row["options"] = plain(method.details)
        return {"rows": rows}

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        rows = [(x.name, x.form or "", x.construction.header.summary) for x in self]
        return html_table("byheart.methods", ("method", "form", ""), rows)


class Methods:
    """The constructions: `methods()` is their table, `methods.OneLayer` one of their classes.

    Example:
        >>> import byheart
        >>> [method.form for method in byheart.methods("seq2seq")]
        ['small', 'faithful']
        >>> byheart.methods.OneLayer(gap=1e-6).gap
        1e-06
    """

    def __call__(self, name: str | None = None) -> MethodTable:
        """All methods, or the forms of one of them.

        Args:
            name: What `compile` takes as its method.

        Returns:
            A table that prints the theorem and the options of each.
        """
        forms = ALL if name is None else named(name)
        if not forms:
            raise ByheartError(f"there is no method {name!r}; there are {', '.join(METHODS)}.")
        return MethodTable(map(Method, forms))

    def __getattr__(self, name: str) -> Any:
        for row in REGISTRY:
            if row[2].endswith(f":{name}"):
                return type(construct(row))
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"there is no construction {name}; dir(byheart.methods) lists them.")

    def __dir__(self) -> list[str]:
        return sorted(row[2].partition(":")[2] for row in REGISTRY)

    def __repr__(self) -> str:
        return repr(self())


methods = Methods()
