"""Papers for people: every key that a row or a statement has is cited by its authors."""

from byheart.theory import ArchitectureFacts, DataFacts, answers
from byheart.theory.item import Item
from byheart.theory.kajitsuka2025 import items as kajitsuka2025
from byheart.theory.papers import CITED, cited
from byheart.theory.question import Question
from byheart.theory.statements import PAPERS


def test_every_paper_has_authors():
    question = Question(DataFacts(), ArchitectureFacts())
    assert {row.paper for row in answers(question)} | set(PAPERS) <= set(CITED)
    assert isinstance(kajitsuka2025.ITEMS["THEOREM_4_1"], Item)


def test_what_is_not_a_citation():
    for words in ("--architecture madden2024", "dana2024-mlp", "architecture='dana2024'"):
        assert cited(words) == words
    assert cited("by Lemma B.4 of kajitsuka2025") == "by Lemma B.4 of Kajitsuka & Sato (2025)"
