"""Papers by the names that a paper would cite them with."""

import re

CITED = {
    "allenzhu2024": "Allen-Zhu & Li (2024)",
    "bartlett2019": "Bartlett et al. (2019)",
    "baum1988": "Baum (1988)",
    "bubeck2020": "Bubeck et al. (2020)",
    "cabannes2024": "Cabannes et al. (2024)",
    "chen2024": "Chen & Zou (2024)",
    "dana2024": "Dana et al. (2024)",
    "goldberg1995": "Goldberg & Jerrum (1995)",
    "huang1998": "Huang & Babri (1998)",
    "huben2023": "Huben & Morris (2023)",
    "kajitsuka2024": "Kajitsuka & Sato (2024)",
    "kajitsuka2025": "Kajitsuka & Sato (2025)",
    "kim2023": "Kim et al. (2023)",
    "madden2024": "Madden et al. (2024)",
    "maddenthrampoulidis2024": "Madden & Thrampoulidis (2024)",
    "mahdavi2024": "Mahdavi et al. (2024)",
    "morris2025": "Morris et al. (2025)",
    "nilsson1965": "Nilsson (1965)",
    "park2021": "Park et al. (2021)",
    "siegel2024": "Siegel (2024)",
    "sontag1997": "Sontag (1997)",
    "tamura1991": "Tamura (1991)",
    "vardi2022": "Vardi et al. (2022)",
    "yun2019": "Yun et al. (2019)",
    "yun2020": "Yun et al. (2020)",
    "zhang2017": "Zhang et al. (2017)",
    "zhang2021": "Zhang et al. (2021)",
}
# the models of papers have the same names: those are in quotes, after --architecture or in a path
KEY = re.compile(rf"(?<![\w'\"/=-])(?<!--architecture )({'|'.join(CITED)})\b(?![-'\"/])")


def cited(text: str) -> str:
    """The text for people: keys of papers become authors and years.

    >>> cited("kajitsuka2025, Theorem 4.1")
    'Kajitsuka & Sato (2025), Theorem 4.1'
    >>> cited("give --architecture madden2024 or dana2024-mlp, as Dana et al. do")
    'give --architecture madden2024 or dana2024-mlp, as Dana et al. do'
    """
    return KEY.sub(lambda found: CITED[found[0]], text)
