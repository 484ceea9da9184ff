"""Papers by the names that a paper would cite them with (papers.csv)."""

import csv
import re
from importlib.resources import files

CITED = dict(csv.reader(files(__package__).joinpath("papers.csv").read_text("utf-8").splitlines()))
# the models of papers have the same names: those are in quotes, after --architecture or in a path
KEY = re.compile(rf"(?<![\w'\"/=-])(?<!--architecture )({'|'.join(CITED)})\b(?![-'\"/])")


def cited(text: str) -> str:
    """The text for people: keys of papers become authors and years.

    >>> cited("kajitsuka2025, Theorem 4.1")
    'Kajitsuka & Sato (2025), Theorem 4.1'
    >>> cited("give --architecture madden2024 or dana2024-mlp, as Dana et al. do")
    'give --architecture madden2024 or dana2024-mlp, as Dana et al. do'
    """
    return KEY.sub(lambda key: CITED[key[0]], text)
