"""The rows: laws that all of them keep, whatever is asked."""

import importlib
import math
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byheart.theory
from byheart.theory import (
    ALL,
    ArchitectureFacts,
    DataFacts,
    Question,
    after,
    answers,
    related,
    rules_of_thumb,
)
from byheart.theory.dana2024 import items as dana2024
from byheart.theory.dana2024.near_tables import NearLookUp
from byheart.theory.item import KINDS, SIGNS, Bound
from byheart.theory.kajitsuka2025 import items as kajitsuka2025
from byheart.theory.kajitsuka2025.items import LABELS
from byheart.theory.madden2024 import items as madden2024
from byheart.theory.madden2024.items import DISTRIBUTIONS
from byheart.theory.question import ACTIVATIONS, ATTENTIONS

FOLDER = Path(byheart.theory.__file__).parent
KEYS = {"paper", "item", "kind", "direction", "quantity", "value", "applies", "reason"}
some = settings(max_examples=150, deadline=None)


def named(item):
    return f"{item.paper}-{item.item}-{item.about}-{item.quantity}".replace(" ", "_")


def sized(N, **others):
    """Data of N contexts, separated, with a vocabulary that does not limit it."""
    facts = {"labels": 4, "length": 8, "vocabulary": N, "union": N, "dimension": 1}
    facts |= {"radius": 1e3, "distance": 1.0, "entropy": 0.0, "conflicts": 0, "mixed": 0}
    return DataFacts(
        **{**facts, "sequences": N, "contexts": N, "multisets": N, "every": False, **others}
    )


# --- the list


def test_the_list_is_what_the_files_have():
    files = [path.relative_to(FOLDER).with_suffix("") for path in FOLDER.rglob("*.py")]
    found = [importlib.import_module(".".join(["byheart.theory", *x.parts])) for x in files]
    modules = [module for module in found if hasattr(module, "ITEMS")]
    there = [item for module in modules for item in module.ITEMS.values()]
    assert len(ALL) == len(there)
    assert {id(item) for item in ALL} == {id(item) for item in there}
    assert len({named(item) + item.direction for item in ALL}) == len(ALL)


@pytest.mark.parametrize("item", ALL, ids=named)
def test_words(item):
    assert item.kind in KINDS and item.direction in SIGNS
    assert item.about in ("data", "architecture", "both") and item.formula and item.quantity
    assert item.kind != "rule_of_thumb" or item in rules_of_thumb.ITEMS.values()
    assert item.remark.endswith(".")
    assert item.value is not None or item.kind in ("rate", "open") or item.item == "Proposition 1"


def test_every_numbered_bound_of_the_papers_is_there():
    wanted = {
        "madden2024": {"Lemma 1", "Lemma 2", "Theorem 1", "Theorem 5", "Theorem 7", "eq. (3)"},
        "dana2024": {
            *("Proposition 1", "Proposition 2", "Proposition 3", "Theorem 1", "Theorem 2"),
            *("Theorem 3", "Corollary 1", "Corollary 2"),
        },
        "kajitsuka2025": {
            *("Theorem 4.1", "Corollary 4.1", "Theorem D.1", "Theorem E.1", "Theorem F.1"),
            *("Theorem 4.2", "Theorem 4.3", "Remarks 4.4 and 4.6", "Footnote 2", "Open problem"),
        },
    }
    for paper, items in wanted.items():
        assert items <= {item.item for item in ALL if item.paper == paper}
    others = "nilsson1965 baum1988 sontag1997 siegel2024 huang1998 goldberg1995 yun2019 bubeck2020"
    others += " park2021 vardi2022 kim2023 huben2023 cabannes2024 kajitsuka2024 mahdavi2024"
    others += " bartlett2019 chen2024 zhang2021 tamura1991 maddenthrampoulidis2024"
    assert {item.paper for item in related.ITEMS.values()} == set(others.split())
    later = "dugan2025 nichani2024 yu2025 yang2026 meyer2025"
    assert {item.paper for item in after.ITEMS.values()} == set(later.split())
    assert {item.paper for item in rules_of_thumb.ITEMS.values()} == {"allenzhu2024", "morris2025"}


@pytest.mark.parametrize(("bits", "held"), [(16, 351), (32, 383), (None, 383)])
def test_what_trained_models_hold_depends_on_the_number_type(bits, held):
    (row,) = (
        x
        for x in answers(Question(None, ArchitectureFacts(parameters=100, bits=bits), bits))
        if x.paper == "morris2025"
    )
    assert row.value == pytest.approx(held) and "by summaries" in row.reason


def test_what_came_after_is_known_by_abstracts_alone():
    """So it is a rate, says what was read, and never has a value."""
    rows = answers(Question(sized(1000), ArchitectureFacts()))
    for item in after.ITEMS.values():
        assert item.kind == "rate" and item.item.startswith("abstract of arXiv ")
        assert "Read: the abstract" in item.remark
        (row,) = (x for x in rows if (x.paper, x.direction) == (item.paper, item.direction))
        assert row.value is None and row.applies and item.formula in row.reason
    near = Question(sized(1000, distance=0.0))
    assert not after.ITEMS["YANG_ENOUGH"].answer(near).applies


# --- anything may be asked


def facts(kind, **words):
    """Data or a model whose facts are anything, or not known."""
    numbers = st.none() | st.integers(0, 5) | st.integers(0, 10**7)
    known = {field.name: numbers for field in fields(kind) if field.name != "near"}
    return st.builds(kind, **{**known, **words})


anything = st.none() | facts(
    DataFacts,
    radius=st.none() | st.floats(0, 1e9),
    distance=st.none() | st.floats(0, 10),
    entropy=st.none() | st.floats(0, 1e9),
    every=st.none() | st.booleans(),
    length=st.none() | st.integers(0, 300),
)
any_model = st.none() | facts(
    ArchitectureFacts,
    family=st.sampled_from([None, "madden2024", "dana2024", "kajitsuka2025", "decoder"]),
    attention=st.sampled_from([None, *ATTENTIONS]),
    activation=st.sampled_from([None, *ACTIVATIONS]),
    layers=st.none() | st.integers(0, 30),
    bits=st.none() | st.integers(0, 4000),
)


@some
@given(anything, any_model)
def test_every_question_has_an_answer(data, model):
    """No error; what does not apply has no value, and one sentence says why."""
    question = Question(data, model)
    rows = answers(question)
    assert len(rows) == sum(question.asks(item.about) for item in ALL)
    for row in rows:
        assert isinstance(row, Bound) and set(row.json()) == KEYS
        assert row.applies or (row.value is None and row.reason.endswith("."))
        assert row.reason and "{" not in row.reason
        assert row.value is None or (math.isfinite(row.value) and row.value >= 0)
        assert row.value is None or row.kind in ("theorem", "rule_of_thumb")


def test_nothing_known_is_said():
    rows = answers(Question(DataFacts(), ArchitectureFacts()))
    assert all(row.value is None for row in rows)
    assert sum(row.reason.startswith("not known: ") for row in rows) > 25


# --- what grows, and what is below what


datasets = st.builds(
    sized,
    st.integers(2, 10**7),
    labels=st.integers(2, 1000),
    length=st.integers(2, 100),
    dimension=st.integers(1, 50),
    radius=st.floats(1, 1e6),
    distance=st.floats(1e-3, 1),
    every=st.booleans(),
    mixed=st.integers(0, 1),
)


@some
@given(datasets, st.integers(0, 10**6))
def test_more_contexts_take_more(data, more):
    larger = sized(data.contexts + more)
    larger = replace(
        data, **{x: getattr(larger, x) for x in ("sequences", "contexts", "multisets")}
    )
    pairs = zip(answers(Question(data)), answers(Question(larger)), strict=True)
    assert all(a.value is None or a.value <= b.value for a, b in pairs)


@some
@given(datasets)
def test_what_is_needed_is_not_more_than_what_is_enough(data):
    """For labels and for distributions, by theorems; rules of thumb are not theorems."""
    data = replace(data, union=max(data.union, data.labels))
    rows = [row for row in answers(Question(data)) if row.kind == "theorem" and row.value]
    for quantity in (LABELS, DISTRIBUTIONS):
        found = [row for row in rows if row.quantity == quantity]
        needed = [row.value for row in found if row.direction == "at_least"]
        enough = [row.value for row in found if row.direction == "at_most"]
        assert len(needed) >= 2 and enough and max(needed) <= min(enough)


@some
@given(st.integers(2, 500), st.integers(1, 50), st.integers(1, 50), st.integers(1, 999))
def test_a_model_holds_no_less_than_is_proved(vocabulary, length, dimension, width):
    from byheart.architectures import madden2024

    found = madden2024(vocabulary, length, dimension, width)
    model = ArchitectureFacts(parameters=found.parameters, bits=32, **found.sizes)
    rows = [
        x for x in answers(Question(architecture=model)) if x.quantity == "contexts" and x.value
    ]
    least = max(row.value for row in rows if row.direction == "at_least")
    most = min(row.value for row in rows if row.direction == "at_most" and row.item == "Lemma 1")
    assert least == width <= most


# --- rates


def slope(item, data):
    """Of the logarithms between 10^6 and 10^12."""
    first, last = (
        item.growth(Question(data(N), ArchitectureFacts(bits=None))) for N in (10**6, 10**12)
    )
    return math.log10(last / first) / 6


GROWING = [item for item in ALL if item.about == "data" and item.order is not None]


@pytest.mark.parametrize("item", GROWING, ids=named)
def test_the_rate_is_the_growth(item):
    """Within 0.05 of the paper's power of N."""

    def data(N):
        near = {related.ITEMS["SONTAG"]: 0.0, related.ITEMS["SIEGEL"]: 0.0}.get(item, 1.0)
        every = kajitsuka2025.EVERY_TOKEN in item.assumes
        labels = 2 if related.TWO_LABELS in item.assumes else 4
        length = 1 if related.SINGLE in item.assumes else 8
        fixed = (
            500
            if item
            in (*madden2024.ITEMS.values(), *dana2024.ITEMS.values(), related.ITEMS["HUBEN"])
            else N
        )
        return sized(
            N, distance=near, every=every, labels=labels, length=length, union=fixed,
            vocabulary=fixed,
        )  # fmt: skip

    assert slope(item, data) == pytest.approx(item.order, abs=0.05)


@pytest.mark.parametrize("epsilon", [0.25, 0.4])
def test_limited_bits(epsilon):
    """Theorem F.1: N^epsilon bits per parameter, N^(1 - epsilon) parameters, up to logarithms."""
    values = []
    for N in (10**6, 10**12):
        bits = round(200 * math.log2(N) * (N / 10**6) ** epsilon)
        row = kajitsuka2025.ITEMS["THEOREM_F_1"].answer(
            Question(sized(N), ArchitectureFacts(bits=bits))
        )
        values.append(row.value)
    assert math.log10(values[1] / values[0]) / 6 == pytest.approx(1 - epsilon, abs=0.05)


# --- assumptions that fail


@pytest.mark.parametrize(
    ("item", "changed", "said"),
    [
        (
            madden2024.ITEMS["LEMMA_1"],
            {"vocabulary": 1},
            "A1 fails: the vocabulary must be at least 2",
        ),
        (
            madden2024.ITEMS["LEMMA_1"],
            {"outputs": 1},
            "A1 fails: the vocabulary must be at least 2",
        ),
        (madden2024.ITEMS["THEOREM_1"], {"activation": "sine"}, "A3 fails"),
        (
            madden2024.ITEMS["THEOREM_1"],
            {"length": 1, "vocabulary": 5},
            "A3 fails: .* longer than 1",
        ),
        (madden2024.ITEMS["THEOREM_5"], {"activation": "relu"}, "A4 fails: relu is a polynomial"),
        (madden2024.ITEMS["THEOREM_5"], {"attention": "hard"}, "A4 fails: attention is hard"),
        (
            madden2024.ITEMS["THEOREM_5"],
            {"family": "decoder"},
            "A4 fails: the model is not that of eq",
        ),
        (dana2024.ITEMS["THEOREM_1"], {"head_dimension": 99}, "A2 fails: heads have dimension 99"),
        (
            dana2024.ITEMS["THEOREM_1"],
            {"length": 1},
            "A3 fails: no features of 50 tokens at 1 places",
        ),
        (dana2024.ITEMS["THEOREM_1"], {"dimension": 60, "head_dimension": 60}, "A3 fails"),
        (
            kajitsuka2025.ITEMS["THEOREM_4_2_MODEL"],
            {"activation": "gelu"},
            "A2 fails: .* gelu, not ReLU",
        ),
        (kajitsuka2025.ITEMS["THEOREM_4_3_MODEL"], {"attention": "softmax"}, "open problem"),
        (kajitsuka2025.ITEMS["THEOREM_4_3_MODEL"], {"layers": 0}, "A1 fails: the layers"),
        (related.ITEMS["MAHDAVI_MODEL"], {"length": 30}, "needs S <= d, and the length is 30"),
        (
            related.ITEMS["MAHDAVI_MODEL"],
            {"head_dimension": 99},
            "A2 fails: heads have dimension 99",
        ),
    ],
)
def test_a_bad_architecture_names_which_assumption_fails(item, changed, said):
    blocks = item.paper == "kajitsuka2025"
    family = {"madden2024": "madden2024", "kajitsuka2025": "decoder"}.get(item.paper, "dana2024")
    words = ("hard", "relu") if blocks else ("softmax", "tanh")
    good = ArchitectureFacts(family, 5000, 50, 12, 20, 4, 10, 1, 30, *words, 32)
    assert item.answer(Question(architecture=good)).applies
    row = item.answer(Question(architecture=replace(good, **changed)))
    assert not row.applies and row.value is None
    assert re.search(said, row.reason), row.reason


@pytest.mark.parametrize(
    ("item", "changed", "said"),
    [
        (kajitsuka2025.ITEMS["THEOREM_4_1"], {"conflicts": 3}, "contexts with two or more: 3"),
        (kajitsuka2025.ITEMS["THEOREM_4_1"], {"every": True}, "see Corollary 4.1"),
        (kajitsuka2025.ITEMS["THEOREM_D_1"], {"mixed": 2}, "multisets with two labels or more: 2"),
        (kajitsuka2025.ITEMS["THEOREM_E_1"], {"mixed": 1}, "order matters"),
        (kajitsuka2025.ITEMS["THEOREM_F_1"], {}, "not known: bits"),
        (related.ITEMS["SONTAG"], {}, "the tokens are 1 apart"),
        (related.ITEMS["SIEGEL"], {"distance": 1e-9}, "not exponentially near"),
        (related.ITEMS["CABANNES"], {}, "single tokens, not 8"),
        (dana2024.ITEMS["COROLLARY_1"], {"length": 1}, "A3 fails"),
        (dana2024.ITEMS["PROPOSITION_2"], {"union": 1}, "A1 fails"),
    ],
)
def test_data_that_breaks_an_assumption(item, changed, said):
    row = item.answer(Question(sized(1000, **changed)))
    assert not row.applies and said in row.reason


def test_theorem_2_is_said_to_be_vacuous():
    def row(dimension, vocabulary, **changed):
        model = ArchitectureFacts("dana2024", vocabulary=vocabulary, dimension=dimension)
        return dana2024.ITEMS["THEOREM_2"].answer(Question(sized(100, **changed), model))

    assert "A4 fails" in row(100, 1000).reason and "128 log" in row(100, 1000).reason
    assert "it says nothing" in row(1000, 900).reason
    assert row(900, 1000).value == 0.0  # one label per context
    assert "distribution of each context" in row(900, 1000, conflicts=1).reason


def test_positions_where_order_matters():
    """Another coordinate, and all ordered contexts: never a smaller size."""
    item = kajitsuka2025.ITEMS["THEOREM_4_1"]
    unordered, ordered = (
        item.answer(Question(replace(sized(1000, mixed=x), multisets=800))).value for x in (0, 1)
    )
    assert unordered < ordered


def test_open_and_rates_have_no_number():
    rows = answers(Question(sized(1000), ArchitectureFacts()))
    assert {row.kind for row in rows if row.value is None and row.applies} <= {
        *("rate", "open", "theorem"),
    }
    questions = [(row.paper, row.item) for row in rows if row.kind == "open"]
    assert questions == [
        ("dana2024", "Remarks 1"),
        ("dana2024", "Appendix A.4"),
        ("kajitsuka2025", "Open problem"),
    ]
    rates = [row for row in rows if row.kind == "rate"]
    assert len(rates) > 8 and all(row.value is None for row in rates)
    assert all("Only a rate: " in row.reason for row in rates if row.applies)


@pytest.mark.parametrize("distance", [0.0, 5e-324])
def test_tokens_that_coincide_have_no_size(distance):
    """A distance of 0 divides by 0 in the proof of Theorem 4.1: no value, and a reason."""
    rows = answers(Question(sized(100, radius=0.0, distance=distance)))
    sizes = [row for row in rows if row.item in ("Theorem 4.1", "Theorem D.1", "Theorem F.1")]
    assert len(sizes) == 3
    if distance:
        assert all(row.applies for row in sizes[:2])
    else:
        assert all("distance of 0" in row.reason for row in sizes if row.item != "Theorem F.1")
        assert not any(row.applies for row in sizes)


@pytest.mark.parametrize("huge", [10**60, 10**400])
def test_facts_beyond_the_floats(huge):
    """A number or a reason, never an error."""
    rows = answers(Question(sized(huge), ArchitectureFacts("decoder", huge, huge, 8, 4, bits=8)))
    assert all(row.value is not None or row.reason.endswith(".") for row in rows)
    assert any("too large" in row.reason for row in rows) == (huge > 10**300)


def test_a_bound_that_is_infinite_says_nothing():
    """q > 0 with entropy 0: the encoder of Theorem 2 would need infinite logits."""
    data = sized(100, conflicts=1, near=(NearLookUp(1.0, 0.5, 0.0),))
    model = ArchitectureFacts("dana2024", vocabulary=1000, dimension=900)
    row = dana2024.ITEMS["THEOREM_2"].answer(Question(data, model))
    assert row.value is None and not row.applies and "infinite" in row.reason
