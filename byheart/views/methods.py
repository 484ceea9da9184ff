"""methods as a list: the theorem of each, and the options of one."""

from ..api.methods import MethodTable
from ..theory.papers import cited
from .terminal import Group, RenderableType, Text, codes, sentences


def view(table: MethodTable) -> Group:
    parts: list[RenderableType] = []
    for method in table:
        header = method.construction.header
        name = method.name + (f" --form {method.form}" if method.form else "")
        about = [
            ("paper", cited(f"{header.paper}, {header.item}")),
            ("assumptions", codes(header.assumptions)),
            ("guarantee", codes(header.guarantee)),
        ]
        parts += [Text(name, style="bold"), sentences(about), Text()]
        if table.single:
            flags = []
            for option in method.details:
                choices = f" {' | '.join(option.choices)}." if option.choices else ""
                flags.append((f"--{option.name.replace('_', '-')}", f"{option.help}{choices}"))
            parts += [sentences(flags), Text()]
    return Group(*parts[:-1])
