"""methods: the constructions as a table, and their classes by name."""

from dataclasses import dataclass
from typing import Any

from ..constructions import ALL
from ..constructions.base import Construction
from ..errors import ByheartError
from ..machine.tables import html_table


@dataclass(frozen=True, repr=False)
class Method:
    """One construction as `byheart methods` shows it: the theorem, and its options."""

    construction: Construction

    @property
    def name(self) -> str:
        return self.construction.name

    @property
    def form(self) -> str | None:
        return self.construction.form

    @property
    def options(self) -> dict[str, str]:
        """One sentence per option, by name."""
        found = self.construction.options().items()
        return {name: field.metadata["option"].help for name, field in found}

    def json(self) -> dict:
        names = ("paper", "item", "assumptions", "guarantee")
        header = {name: getattr(self.construction.header, name) for name in names}
        return {"method": self.name, "form": self.form, **header}

    def __repr__(self) -> str:
        title = self.name + (f" ({self.form})" if self.form else "")
        header = self.construction.header
        lines = [f"{title}: {header.summary}", f"  {header.paper}, {header.item}"]
        return "\n".join(lines + [f"  {name}: {help}" for name, help in self.options.items()])


class MethodTable(tuple[Method, ...]):
    """Several methods; `.json()` is what `byheart methods --json` says."""

    def json(self) -> dict:
        return {"rows": [method.json() for method in self]}

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
        found = MethodTable(Method(c) for c in ALL if name in (None, c.name))
        if not found:
            names = ", ".join(dict.fromkeys(c.name for c in ALL))
            raise ByheartError(f"there is no method {name!r}; there are {names}.")
        return found

    def __getattr__(self, name: str) -> Any:
        for construction in ALL:
            if type(construction).__name__ == name:
                return type(construction)
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"there is no construction {name}; dir(byheart.methods) lists them.")

    def __dir__(self) -> list[str]:
        return sorted(type(construction).__name__ for construction in ALL)

    def __repr__(self) -> str:
        return repr(self())


methods = Methods()
