"""compare: predicted counts are built counts, refusals are compile's, and the table is in order."""

import json
from dataclasses import replace

import numpy as np
import pytest

from byheart.api import rows as rows_module
from byheart.api.compare import Comparison, Step, all_rows, compare, ordered
from byheart.api.compile import compile
from byheart.api.configure import prepare, with_positions
from byheart.api.rows import (
    ESTIMATED,
    Choice,
    Row,
    bound_rows,
    own_row,
    related_rows,
    titled,
)
from byheart.cli import main
from byheart.constructions import ALL
from byheart.data.generate import multisets, random, tokens
from byheart.data.load import from_rows, load
from byheart.errors import ByheartError
from byheart.machine.watch import SILENT
from byheart.theory import DataFacts, Question
from byheart.theory.facts import data_facts
from byheart.views.compare import ROOM, spread

KEYS = {
    "name", "kind", "direction", "parameters", "bits", "depth", "evidence", "seconds", "applies",
    "reason", "dense", "longest", "units", "stores",
}  # fmt: skip
SEARCHED = {  # sizes that only a search finds, or that depend on a tokenizer
    "gpt2", "llama",
    "hash-fold-retrieve", "seq2seq (small)", "sparse-attention", "deep-sets (small)",
    "embedding (small)", "limited-bits (small)", "limited-bits (faithful)", "float64",
    "one-layer-narrow", "attention-only-argmax", "attention-neurons",
}  # fmt: skip
by_name = {titled(construction): construction for construction in ALL}


def words(seed, count=12, letters="abcdef", length=3, kind=str):
    """Different sequences of words or integers, each with a label that is one of them."""
    rng = np.random.default_rng(seed)
    rows = {}
    while len(rows) < count:
        size = int(rng.integers(1, length + 1))
        drawn = [str(x) for x in rng.choice(list(letters), size)]
        key = tuple(sorted(drawn[:-1])) + (drawn[-1],)
        value = str(rng.choice(list(letters)))
        rows[key] = [letters.index(x) for x in key], letters.index(value)
        if kind is str:
            rows[key] = list(key), value
    return from_rows(list(rows.values()))


def data_for(construction, seed):
    """Random data that the construction takes."""
    if construction.every:
        return tokens(8, length=3, labels=3, seed=seed)
    if not construction.last:
        return multisets(10, length=4, labels=3, seed=seed)
    if construction.name == "bit-extraction" and seed % 2:
        return random(10, length=3, labels=3, seed=seed)
    if construction.name in ("kim2023", "yun2020") and seed % 2:  # A3: no token twice
        return from_rows([([i, 9 - j, 20 + seed], i * j % 3) for i in range(4) for j in range(4)])
    return words(seed, kind=(str, int)[seed % 2])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(set(by_name) - SEARCHED))
def test_predicted_counts_are_the_built_ones(name, seed):
    construction = by_name[name]
    dataset = data_for(construction, seed)
    made = with_positions(replace(construction, seed=seed), dataset)
    found = made.predict(*prepare(made, dataset, "refuse"))
    model = compile(dataset, method=construction.name, form=construction.form, seed=seed)
    counts = model.record.parameters
    assert found.parameters == counts.counted + counts.outside
    assert found.depth == model.network.depth


def test_positions_are_predicted_too():
    dataset = words(5)
    construction = by_name["bit-extraction"]
    construction = replace(construction, positions=True)
    found = construction.predict(*prepare(construction, dataset, "refuse"))
    model = compile(dataset, method="bit-extraction", positions=True)
    assert found.parameters == model.record.parameters.nonzero
    assert (found.parameters, found.depth) != (0, 0) and found.depth == model.network.depth


def test_what_is_named_is_predicted():
    """Neurons and heads that are named leave nothing to search for."""
    dataset = words(1)
    for name, options in (
        ("one-layer-narrow", {"neurons": 9}),
        ("attention-only-argmax", {"heads": 3}),
    ):
        construction = by_name[name]
        ready = prepare(construction, dataset, "refuse")
        assert construction.predict(*ready) is None
        assert replace(construction, **options).predict(*ready).parameters > 0


DEFAULTS = {"hash-fold-retrieve", "seq2seq (small)"}


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_the_default_method_always_has_a_number(name, monkeypatch):
    """It is built if that takes seconds; else its plan is counted, which is near."""
    dataset = data_for(by_name[name], 0)
    (row,) = [row for row in all_rows(dataset, Question(DataFacts())) if row.name == name]
    model = compile(dataset)
    assert model.record.method == by_name[name].name
    assert (row.parameters, row.evidence) == (model.parameters.nonzero, "proved")
    monkeypatch.setattr(rows_module, "QUICK", 0)
    (row,) = [row for row in all_rows(dataset, Question(DataFacts())) if row.name == name]
    assert row.evidence is None and row.reason == ESTIMATED
    assert 0.8 * model.parameters.nonzero <= row.parameters <= 1.2 * model.parameters.nonzero
    assert row.size(row.parameters) == f"~ {row.parameters}"


def test_estimates_are_near_what_is_built(monkeypatch):
    monkeypatch.setattr(rows_module, "QUICK", 0)
    for dataset in (random(1000, length=4, seed=1), random(500, length=3, labels=9, seed=2)):
        row = own_row(dataset, SILENT)
        built = compile(dataset).parameters.nonzero
        assert row.name == "hash-fold-retrieve" and 0.85 <= row.parameters / built <= 1.15


def test_conflicts_leave_the_network_of_distributions():
    row = own_row(from_rows(CONFLICT), SILENT)
    assert row.name == "one-layer" and row.parameters > 0


@pytest.mark.parametrize("name", sorted(SEARCHED - DEFAULTS - {"gpt2", "llama"}))
def test_the_others_say_so(name):
    construction = by_name[name]
    dataset = data_for(construction, 0)
    rows = {row.name: row for row in all_rows(dataset, Question(DataFacts()))}
    assert rows[name].applies and rows[name].parameters is None
    assert "build=True" in rows[name].reason


def refusal(dataset, construction):
    try:
        compile(dataset, method=construction.name, form=construction.form)
    except ByheartError as error:
        return str(error)
    return None


CONFLICT = [(["a", "b"], "x"), (["a", "b"], "y"), (["b"], "x")]
REFUSED = {
    "conflict": from_rows(CONFLICT),
    "every": from_rows([(["a", "b"], ["x", "y"])]),
    "vectors": from_rows([([[0.5, 1], [2, 3]], 0), ([[0.5, 1]], 1)]),
    "one token": from_rows([(["a"], "a"), (["a", "a"], "a")]),
    "empty": from_rows([([1], 0), ([], 1)]),
    "no ids": from_rows([([-1], 0), ([-2], 1)]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_apply_has_the_sentence_of_compile(name):
    """Without building anything; and what applies is not refused by compile."""
    dataset = REFUSED[name]
    rows = {row.name: row for row in all_rows(dataset, Question(DataFacts()))}
    assert set(rows) >= set(by_name)
    for title, construction in by_name.items():
        row, reason = rows[title], refusal(dataset, construction)
        assert row.applies is (reason is None), (title, reason)
        if reason is not None:
            assert row.reason == reason and row.parameters is None
    assert any(not rows[title].applies for title in by_name)


def test_conflicts_can_be_settled_where_labels_are_stored():
    rows = all_rows(REFUSED["conflict"], Question(DataFacts()), Choice(on_conflict="majority"))
    found = {row.name: row for row in rows}
    assert found["bit-extraction"].applies and found["one-layer"].applies


def test_order_is_from_small_to_large():
    rows = [
        Row("a", "bound", "at_least", None, 5),
        Row("b", "construction", "at_most", 30),
        Row("c", "construction", "at_most", 1, applies=False, reason="no"),
        Row("d", "bound", "at_most", 7.5),
        Row("e", "construction", "at_most", None, None, reason="search"),
        Row("f", "construction", "at_most", 3, 900),
    ]
    assert "".join(row.name for row in ordered(rows)) == "fdbaec"


def test_bounds_are_those_of_the_data():
    facts = data_facts(words(0))
    rows = bound_rows(Question(facts))
    names = [(row.name, row.direction) for row in rows]
    assert len(set(names)) == len(names) > 10
    assert all(row.kind == "bound" and set(row.json()) == KEYS for row in rows)
    thumb = [row for row in rows if "rule of thumb" in row.name]
    assert len(thumb) == 2 and all(row.direction == "at_least" for row in thumb)
    (bits,) = [row for row in rows if row.bits is not None]
    assert bits.parameters is None
    needed = next(row for row in rows if row.name.startswith("madden2024, Lemma 1"))
    built = next(row for row in all_rows(words(0), Question(facts)) if row.name == "one-layer")
    assert needed.parameters <= built.parameters


@pytest.mark.parametrize("dataset", [words(3), tokens(9, length=2, labels=2)])
def test_beginnings_are_datasets_of_their_own(dataset):
    for count in (1, 4, len(dataset)):
        part = dataset.prefix(count)
        rows = []
        for i in range(count):
            names = [dataset.label(k) for k in np.flatnonzero(dataset.owner == i)]
            rows.append((dataset.sequence(i), names if dataset.every else names[0]))
        assert part.sha256() == from_rows(rows).sha256()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "d.jsonl"
    rows = [{"input": list("abc"[i % 3] + "ab"[i % 2]), "label": "ab"[i // 3]} for i in range(6)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_command(file, capsys):
    assert main(["compare", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert all(set(row) == KEYS for row in answer["rows"])
    assert {row["kind"] for row in answer["rows"]} == {"construction", "bound", "measured"}
    assert (answer["dataset"]["contexts"], answer["sweep"], answer["built"]) == (6, [], False)
    built = [row["name"] for row in answer["rows"] if row["evidence"] or row["seconds"]]
    assert built == ["hash-fold-retrieve"]
    assert main(["compare", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "Does not apply" in shown and "proved    hash-fold-retrieve\n" in shown
    assert "Kajitsuka & Sato (2025), Theorem" in shown and "kajitsuka2025" not in shown


def test_an_estimate_is_marked(file, capsys, monkeypatch):
    monkeypatch.setattr(rows_module, "QUICK", 0)
    assert main(["compare", str(file)]) == 0
    (line,) = [x for x in capsys.readouterr().out.splitlines() if "hash-fold-retrieve" in x]
    assert line.split()[0] == "~" and int(line.split()[1]) > 10


def test_sweeps_and_pictures(file, tmp_path, capsys):
    picture = tmp_path / "p.svg"
    assert main(["compare", str(file), "--sweep", "4, 2,6", "--plot", str(picture), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [step["dataset"]["sequences"] for step in answer["sweep"]] == [2, 4, 6]
    assert answer["rows"] == answer["sweep"][-1]["rows"]
    assert answer["dataset"]["name"] == "d.jsonl" and "three-layer" in picture.read_text()
    assert picture.read_text().count("our own network") == 1
    assert main(["compare", str(file), "--plot", str(tmp_path / "q.png"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["picture"].endswith("q.png")
    for name in ("r.pdf", "s.pdf"):  # the same bytes at any time
        assert main(["compare", str(file), "--plot", str(tmp_path / name)]) == 0
    drawn = (tmp_path / "r.pdf").read_bytes()
    assert drawn == (tmp_path / "s.pdf").read_bytes() and drawn.startswith(b"%PDF")
    assert main(["compare", str(file), "--plot", str(tmp_path / "t.svg")]) == 0
    drawn = (tmp_path / "t.svg").read_text()
    assert "<!-- hash-fold-retrieve -->" in drawn and "<!-- Kajitsuka" in drawn
    assert "Lemma 1" not in drawn  # it is about distributions, and this data has labels


def test_a_result_is_json_text_and_html(file):
    found = compare(load(file), sweep=[6, 2])
    assert isinstance(found, Comparison) and [len(step.rows) for step in found.steps]
    assert found.json()["rows"] == found.json()["sweep"][-1]["rows"]
    assert list(found.json()) == [
        "dataset",
        "built",
        "conflicts",
        "rows",
        "sweep",
        "lines",
        "crossings",
        "picture",
    ]
    assert compare(load(file)).json()["sweep"] == [] and "one-layer" in repr(found)
    evil = Comparison(
        "d", False, (Step(found.dataset, (Row("<b>", "bound", "at_most", 3),)),), False
    )
    assert "&lt;b&gt;" in evil._repr_html_() and "<b>" not in evil._repr_html_()
    for wrong in ([0], [7]):
        with pytest.raises(
            ByheartError, match=f"at most the 6 sequences of the data, not {wrong[0]}"
        ):
            compare(load(file), sweep=wrong)


def test_labels_and_distributions_are_not_in_one_list(file, tmp_path, capsys):
    """Of data without a conflict what distributions take is left out, and counted."""
    rows = [row for row in compare(file).rows if row.applies]
    stored = [row.stores for row in rows]
    assert stored == sorted(stored, key=["labels", "distributions"].index) and len(set(stored)) == 2
    main(["compare", str(file)])
    shown = capsys.readouterr().out
    assert "token-averaging" not in shown and "rows about distributions: --all" in shown
    main(["compare", str(file), "--all"])
    assert "token-averaging" in capsys.readouterr().out
    both = tmp_path / "both.jsonl"
    both.write_text("".join(f'{{"input": ["a", "b"], "label": "{x}"}}\n' for x in "xy"))
    main(["compare", str(both)])
    assert "Distributions: a context" in capsys.readouterr().out


def test_closed_forms_pass_through_the_sizes_of_the_data():
    data = from_rows([([f"w{i}", f"v{i % 7}"], "xyz"[i * i % 3]) for i in range(40)])
    found = compare(data, until=1000)
    (own,) = [row for row in found.rows if row.name == "hash-fold-retrieve"]
    assert own.evidence == "proved"
    points = dict(next(x.points for x in found.lines if x.name == own.name))
    assert points[40] == own.parameters < points[1000]


def test_until_needs_a_picture(file, capsys):
    assert main(["compare", str(file), "--until", "1000"]) == 2
    assert "--plot" in capsys.readouterr().err


def test_reasons_are_translated_at_the_border(file, capsys):
    assert main(["compare", str(file), "--json"]) == 0
    shown = capsys.readouterr().out
    assert "--build measures it" in shown and "build=True" not in shown
    assert main(["compare", str(file)]) == 0
    assert "build=True" not in capsys.readouterr().out


@pytest.mark.slow
def test_what_is_built_is_measured(file):
    rows = [row.json() for row in compare(load(file), build=True).rows]
    built = [row for row in rows if row["kind"] == "construction" and row["applies"]]
    assert len(built) >= 15
    for row in built:
        assert row["evidence"] == "proved" and row["seconds"] > 0 and row["bits"] > 0
        assert row["parameters"] > 0 and row["depth"] > 0 and row["reason"] is None


def test_one_row_that_is_built(file, monkeypatch):
    monkeypatch.setattr("byheart.api.rows.ALL", (by_name["one-layer"], by_name["bit-extraction"]))
    rows = {row.name: row.json() for row in compare(load(file), build=True).rows}
    plain = {row.name: row.json() for row in compare(load(file)).rows}
    for name in ("one-layer", "bit-extraction"):
        assert rows[name]["evidence"] == "proved" and rows[name]["reason"] is None
        for key in ("parameters", "depth"):
            assert rows[name][key] == plain[name][key]
        assert rows[name]["bits"] > 0 and rows[name]["seconds"] > 0


@pytest.mark.parametrize(
    "options, reason",
    [
        (["--sweep", "1,x"], "list of positive whole numbers"),
        (["--sweep", "0"], "list of positive whole numbers"),
        (["--sweep", "7"], "--sweep must be at most the 6 sequences of the data, not 7"),
        (["--on-conflict", "guess"], "--on-conflict must be one of"),
        (["--plot", "p.doc"], "p.doc"),
    ],
)
def test_refusals(file, options, reason, capsys):
    assert main(["compare", str(file), *options]) == 2
    shown = capsys.readouterr()
    assert reason in shown.err and shown.out == ""


def test_names_have_room():
    heights = sorted([0.2] * 5 + [0.99] * 4 + [0.5])
    placed = spread(heights)
    assert placed == sorted(placed) and max(placed) <= 1 + 1e-9
    assert min(b - a for a, b in zip(placed, placed[1:], strict=False)) >= ROOM - 1e-9
    assert spread([]) == [] and spread([0.4]) == [0.4]


def test_what_section_6_of_dana2024_compares_with():
    """Mahdavi et al.: (T_0 - 1) / (S - 1) heads; a linear memory reads single tokens."""
    rows = [(["a", "b"], "x"), (["b", "a"], "y"), (["a", "a"], "x"), (["b", "b"], "y")]
    dataset = from_rows(rows)
    found = {row.name: row for row in all_rows(dataset, Question(data=data_facts(dataset)))}
    named = {name.partition(":")[0]: row for name, row in found.items()}
    mahdavi = named["mahdavi2024, Theorem 1 (dana2024, section 6, corrected)"]
    d, heads = 10, 3  # three more contexts than one, pairs of tokens
    assert mahdavi.parameters == d * (2 + 2 * 4 + 4 * d * heads) and mahdavi.applies
    assert named["huben2023 (dana2024, section 6)"].parameters is None
    memory = named["cabannes2024 (dana2024, section 6)"]
    assert not memory.applies and "S = 1" in memory.reason
    both = from_rows([*rows, (["a", "b"], "y")])
    found = all_rows(both, Question(data=data_facts(both)))
    assert not any(row.applies for row in found if "(dana2024, section 6" in row.name)


# --- related work


SYSTEMS = {
    "attention-neurons", "staircase", "three-layer (small)", "three-layer (faithful)", "park2021",
    "vardi2022 (small)", "vardi2022 (faithful)", "baum1988", "bubeck2020", "kim2023 (small)",
    "kim2023 (faithful)", "yun2020", "one-layer without positions, after Kajitsuka & Sato (2024)",
    "attention-only with the heads of Mahdavi et al. (2024)",
}  # fmt: skip


def few_texts(tmp_path):
    (tmp_path / "t.txt").write_text("the cat sat\n\nthe dog ran\n\na cat ran off\n")
    return load(tmp_path / "t.txt")


@pytest.mark.parametrize("kind", ["words", "vectors", "text"])
def test_every_system_that_can_be_built_is_in_one_table(kind, tmp_path):
    data = {
        "words": lambda: from_rows(
            [([a, b], str(i % 3)) for i, (a, b) in enumerate(zip("abcdef", "bcdefa", strict=True))]
        ),
        "vectors": lambda: from_rows([([[i, i * i % 7, 3]], i % 3) for i in range(9)]),
        "text": lambda: few_texts(tmp_path),
    }[kind]()
    found = {row.name: row for row in compare(data, build=True).rows if row.kind != "bound"}
    for name in SYSTEMS:
        row = found.get(name)
        if kind == "vectors" and name.split()[0] in (
            "attention-neurons",
            "one-layer",
            "attention-only",
        ):
            assert row is None or (not row.applies and "A" in row.reason)
            continue
        if kind == "text" and row is not None and not row.applies:
            assert " fails: " in row.reason  # order counts, or every token is a layer
            continue
        assert row.applies and row.evidence == "proved", (name, row)
        assert row.units > 0 and row.dense >= row.parameters > 0 and row.longest > 0


def test_rows_in_the_order_that_is_asked_for():
    data = words(1)
    for column in ("units", "depth", "parameters"):
        rows = [x for x in compare(data, sort=column).rows if x.applies and x.stores == "labels"]
        known = [getattr(x, column) for x in rows if getattr(x, column) is not None]
        assert known == sorted(known) and len(known) > 5
    named = [x for x in compare(data, sort="name").rows if x.applies and x.kind != "bound"]
    for stores in ("labels", "distributions"):
        names = [x.name for x in named if x.stores == stores]
        assert names == sorted(names) and names
    with pytest.raises(ByheartError, match="sort must be one of parameters, dense"):
        compare(data, sort="size")


def test_an_associative_memory_is_measured():
    """68 dimensions are enough for 100 facts with labels of their own (cabannes2024)."""
    data = from_rows([([i], 1000 + i) for i in range(100)])
    rows = related_rows(data, Choice(build=True), SILENT)
    (row,) = [x for x in rows if x.kind == "measured"]
    assert row.applies and 50**2 <= row.parameters <= 90**2 and row.reason.startswith("d = ")
    assert [x.applies for x in compare(words(1)).rows if x.kind == "measured"] == [False]


def test_closed_forms_go_on_to_where_the_order_turns():
    data = from_rows([([[i, i * i % 11, 3, i % 5]], i % 2) for i in range(11)])
    found = compare(data, until=10**9)
    lines = {line.name: dict(line.points) for line in found.lines}
    assert lines["park2021"][10**3] < lines["vardi2022 (small)"][10**3]
    assert lines["park2021"][10**9] > lines["vardi2022 (small)"][10**9]
    assert lines["staircase"][100] < lines["vardi2022 (small)"][100]
    assert max(lines["park2021"]) == 10**9
    first = found.crossings[0]
    assert (first.smaller, first.larger) == ("vardi2022 (small)", "park2021")
    assert 10**6 < first.contexts < 10**7
    assert found.json()["crossings"][0]["smaller"] == "vardi2022 (small)"
    with pytest.raises(ByheartError, match="until must be a number of contexts from 100"):
        compare(data, until=7)


def test_the_command_draws_them(file, capsys, tmp_path):
    picture = tmp_path / "growth.svg"
    arguments = ["--until", "1e9", "--sort", "units", "--plot", str(picture)]
    assert main(["compare", str(file), *arguments]) == 0
    assert "is smaller than park2021, by closed forms" in " ".join(capsys.readouterr().out.split())
    assert "vardi2022" in picture.read_text() or picture.stat().st_size > 10_000
