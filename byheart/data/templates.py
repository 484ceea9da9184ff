"""Templates: rows of a table as their owner would write them.

"The CEO of {company} is" names the column company; {{ and }} stand for braces.
"""

import re
from collections.abc import Mapping, Sequence

from ..errors import ByheartError

FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


def fields(templates: Sequence[str], answer: str | None = None) -> list[str]:
    """The columns that templates name, each once.

    >>> fields(["The CEO of {company} is {{here}}", "{company}:"], "{ceo}")
    ['company', 'ceo']
    """
    texts = (*templates, *([] if answer is None else [answer]))
    found = (x[1] for text in texts for x in FIELD.finditer(text) if x[1] is not None)
    return list(dict.fromkeys(found))


def written(template: str, row: Mapping[str, str]) -> str:
    """The template with the cells of a row in the place of their columns.

    >>> written("{name}: {{{age}}}", {"name": "Ann", "age": "7"})
    'Ann: {7}'
    """
    return FIELD.sub(lambda x: x[0][0] if x[1] is None else row[x[1]], template)


def check(
    templates: Sequence[str], answer: str | None, input: Sequence[str], label: str | None
) -> None:
    """ByheartError if these options do not say what is asked and what is answered."""
    if not templates:
        raise ByheartError("`answer=...` says what follows `template=...`; give both.")
    if input:
        raise ByheartError("`template=...` names its columns itself; leave out `input=...`.")
    if (answer is None) == (label is None):
        raise ByheartError(
            "`template=...` needs either `answer=...`, such as '{ceo}', or `label=...`, a column."
        )
    for text in (*templates, *([] if answer is None else [answer])):
        if not fields([text]):
            option = "template" if text in templates else "answer"
            raise ByheartError(
                f"`{option}={text!r}` names no column; columns stand in braces: '{{company}}'."
            )
