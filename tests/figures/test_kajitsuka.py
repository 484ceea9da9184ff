"""The experiments of Kajitsuka and Sato: what is trained, what rows say, what is drawn."""

import importlib.util
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.errors import ByheartError
from byheart.figures.figure import Settings, conflicts, picture
from byheart.figures.kajitsuka import KAJITSUKA, curves, growth, length, sweeps
from byheart.figures.kajitsuka.blocks import fewest, growing, settled, smallest, tried
from byheart.figures.kajitsuka.setups import SETUPS
from byheart.lab.material import Material
from byheart.lab.problem import labelled
from byheart.lab.sweeps.results import Smallest
from byheart.lab.sweeps.rows import read
from byheart.theory.kajitsuka2025.sign_patterns import uniform_attention

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "data"
RESULTS = HERE.parents[1] / "results"
specification = importlib.util.spec_from_file_location("samples", HERE / "rows_of_sweeps.py")
samples = importlib.util.module_from_spec(specification)
specification.loader.exec_module(samples)
WORDS = "a b c d e f g h i j k l m n o p".split()
FACTS = {"vocabulary": 1700, "outputs": 3, "entropy": 10.0, "best_accuracy": 0.9}


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """Small files, and short lengths: what is made up here is not trained."""
    relations = ("entailment", "neutral", "contradiction")
    lines = [f"{relations[i % 3]}\t{WORDS[i % 5]} {' '.join(WORDS)} {i}\tx" for i in range(2000)]
    (tmp_path / "mnli.tsv").write_text("label\tpremise\thypothesis\n" + "\n".join(lines))
    reviews = [f"{i % 2}\tw{i} {' '.join(WORDS)}" for i in range(3100)]
    (tmp_path / "imdb.tsv").write_text("label\ttext\n" + "\n".join(reviews))
    monkeypatch.setattr(length, "SEEDS", {10: 2, 100: 1})
    return tmp_path


def row(blocks, reached, seed=0, sequences=600, **more):
    return {
        "trial": {
            "sizes": {"layers": blocks}, "seed": seed, "data": {"sequences": sequences},
            "protocol": {"frozen": []},
        },
        "reached": reached, "parameters": 100 * blocks, "contexts": 574, "predictions": 600,
        "loss": 60.0, "accuracy": 0.8, "steps": 1000, "curve": [], "seconds": 1.0, **FACTS, **more,
    }  # fmt: skip


def rows_of(figure, settings):
    """Every second depth and more is enough; curves are straight lines."""
    curve = [[0, 600.0, 0.4], [500, 300.0, 0.6]]
    return {
        part.label: samples.rows(
            part, lambda trial: (0.8, trial.sizes["layers"] >= 2), curve=curve, **FACTS
        )
        for part in figure.parts(settings)
    }


def test_sequences_are_eight_words_and_end_with_the_first_one():
    dataset = sweeps.cut([("One, two three four five six seven eight nine", "x"), ("b a", "y")])
    assert dataset.sequence(0) == ["seven", "six", "five", "four", "three", "two", ",", "One"]
    assert dataset.sequence(1) == ["a", "b"]
    assert [dataset.label(i) for i in (0, 1)] == ["x", "y"]


def test_the_token_that_is_read_out_comes_last():
    texts = [("One, two three four five six seven eight", "x")]
    words = ["One", ",", "two", "three", "four", "five", "six", "seven"]
    assert sweeps.cut(texts, "last").sequence(0) == words
    assert sweeps.cut(texts, "special").sequence(0) == [*words[6::-1], "[CLS]"]
    assert "[CLS]" not in sweeps.cut([("x [CLS] y", "x")]).sequence(0), "no text has this token"


def test_pieces_of_words():
    assert sweeps.pieces("Unhappily, so", 3) == ["unh", "##app", "##ily", ",", "so"]
    assert sweeps.pieces("Unhappily, so", 0) == ["Unhappily", ",", "so"]
    pieces = sweeps.cut([("abcdefghijklmnopqr", "x")], "special", 2).sequence(0)
    assert pieces == [f"##{x}" for x in ("mn", "kl", "ij", "gh", "ef", "cd")] + ["ab", "[CLS]"]


def test_multinli_joins_premise_and_hypothesis(tmp_path):
    path = tmp_path / "mnli.tsv"
    path.write_text("label\tpremise\thypothesis\nneutral\tp q\tr\nentailment\tp\tq r\n")
    dataset = sweeps.multinli(path, 5)
    assert [dataset.sequence(i) for i in (0, 1)] == [["r", "q", "p"]] * 2
    problem = labelled(dataset)
    assert (len(problem), problem.best_accuracy) == (1, 0.5)
    assert problem.entropy == pytest.approx(2 * math.log(2))
    assert len(sweeps.multinli(path, 1)) == 1


def test_a_premise_with_several_labels_is_one_sequence(tmp_path):
    path = tmp_path / "mnli.tsv"
    path.write_text("label\tpremise\thypothesis\nneutral\tp q\tr\nentailment\tp q\tr\n")
    problem = labelled(sweeps.multinli(path, 5))
    assert (problem.predictions, problem.best_accuracy) == (1, 1.0)


def test_data_that_is_not_there_is_said():
    for figure in KAJITSUKA[:3]:
        with pytest.raises(ByheartError, match="data=..."):
            figure.parts(Settings())


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
def test_the_real_pairs_have_no_conflicts():
    for place in ("first", "special", "last"):
        problem = labelled(sweeps.multinli(SHARED, 1700, place))
        assert (len(problem), problem.best_accuracy, problem.entropy) == (1700, 1, 0)
    problem = labelled(sweeps.multinli(SHARED, 2000))
    assert (problem.predictions, len(problem), problem.outputs) == (2000, 2000, 3)
    assert (problem.best_accuracy, problem.entropy) == (1, 0)
    pieces = labelled(sweeps.multinli(SHARED, 1700, "special", 3))
    assert (len(pieces), round(1700 * pieces.best_accuracy)) == (1696, 1697)
    review = labelled(sweeps.imdb(SHARED, 3000))
    assert (review.predictions, len(review), review.outputs) == (3000, 2993, 2)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
@pytest.mark.parametrize("figure", KAJITSUKA[:3], ids=lambda one: one.name)
def test_committed_rows_are_of_the_data_that_would_be_trained(figure):
    """No part wants a trial that has no row, and all rows are of the same data."""
    for part in figure.parts(Settings(data=SHARED)):
        sweep = replace(part.sweep, data={"sequences": len(part.dataset), **part.sweep.data})
        rows = {row["key"]: row for row in read(RESULTS / figure.name / part.label)}
        assert sweep.wanted(rows) == [], part.label
        assert {row["trial"]["data"]["sha256"] for row in rows.values()} == {sweep.data["sha256"]}


@pytest.mark.parametrize("figure", KAJITSUKA[:3:2], ids=lambda one: one.name)
def test_rows_with_conflicting_labels_are_told_and_not_drawn(figure):
    folders = (RESULTS / figure.name).glob("*/rows.jsonl")
    every = {path.parent.name: read(path.parent) for path in folders}
    own = figure.own(every)
    assert {x for x in every if x not in own} == {f"conflicting-{x}" for x in figure.labels}
    assert {row["best_accuracy"] for x in own if x != "pieces-3" for row in own[x]} == {1}
    assert "0 conflicting labels" in figure.caption(own)
    assert "earlier" not in figure.caption(own)
    trained = [row for x in figure.labels for row in every[f"conflicting-{x}"]]
    most = max(row["predictions"] for row in trained)
    best = max(row["accuracy"] for row in trained if row["predictions"] == most)
    count = len({row["key"] for row in trained})
    assert f"; {count} earlier ones with" in figure.caption(every)
    assert f"at best accuracy {best:.3f}" in figure.caption(every)
    assert best < 0.9, "their labels contradict each other"


def test_conflicts_in_words():
    def part(*shares):
        return [row(1, True, best_accuracy=share) for share in shares]

    assert conflicts({}) == conflicts({"trained": part(1.0)}) == "0 conflicting labels"
    assert conflicts({"trained": part(0.9, 0.9)}) == "60 conflicting labels"
    assert conflicts({"trained": part(0.9, 1.0)}) == "up to 60 conflicting labels"
    mixed = {"trained": part(1.0), "frozen": [], "pieces-3": part(0.99)}
    assert conflicts(mixed) == "0 conflicting labels, but up to 6 in `pieces-3`"


def test_contradictory_labels_are_told_only_where_they_are():
    contradictory = {"trained": [row(1, True)]}
    assert "the labels contradict each other, so no function" in curves.finding(contradictory)
    clean = {"trained": [row(1, True, best_accuracy=1.0, entropy=0.0)]}
    said = curves.finding(clean)
    assert "; no labels contradict each other, and the best accuracy is 0.800. With 1" in said


def test_protocols_of_the_kinds():
    trained, frozen, paper = (sweeps.protocol_of(kind, 50, 0.009, 2) for kind in sweeps.KINDS)
    assert frozen == replace(trained, frozen=("embedding.weight",))
    assert trained.curve == paper.curve == 50 and trained.stop == 0.009
    assert paper.search.trials == 2 and paper.attempts[0].optimiser == "adamw"
    assert paper.stop is None, "the authors train all 1,000 steps"
    assert sweeps.protocol_of("trained").stop is not None
    assert [one.steps for one in sweeps.protocol_of("trained", steps=7).attempts] == [7]


def test_what_is_trained(texts):
    first, second, third, last = (figure.parts(Settings(data=texts)) for figure in KAJITSUKA)
    assert {part.label: part.sweep.axes[0][1] for part in first}["trained"] == (
        1,
        *range(10, 51, 10),
    )
    assert {len(part.dataset) for part in second} == {3000}
    for parts in (first, second):
        assert {part.label: part.sweep.seeds for part in parts} == curves.SEEDS
    assert all(part.sweep.protocol.curve == 50 for part in (*first, *second))
    assert [part.label for part in third] == list(SETUPS)
    searched = {part.label: part.sweep for part in third}
    sizes = tuple(range(600, 1701, 100))
    assert searched["trained"].axes[0] == ("sequences", sizes)
    assert {label for label, one in searched.items() if one.seeds != 3} == set()
    assert all(part.sweep.criterion.value == 0.01 for part in (*third, *last))
    assert {label for label, one in searched.items() if one.find} == {
        "trained", "trained-special", "trained-last", "paper"
    }  # fmt: skip
    assert searched["vectors-512"].sizes == {"dimension": 2, "coordinates": 512}
    assert [one.steps for one in searched["vectors-512"].protocol.attempts] == [4000]
    assert searched["paper"].protocol.search.trials == 10
    datasets = {part.label: part.dataset for part in third}
    assert datasets["trained"].sequence(0)[-1] == datasets["trained-last"].sequence(0)[0]
    assert {datasets[x].sequence(5)[-1] for x in ("trained-special", "pieces-3")} == {"[CLS]"}
    assert [part.label for part in last] == ["n10", "n100", "narrow"]
    assert [part.sweep.find for part in last] == [True, True, False]
    assert [part.sweep.sizes["dimension"] for part in last] == [6, 6, 2]
    assert {part.sweep.data["loss"] for part in last} == {"squared"}
    assert last[0].dataset.length == 10 and len(last[0].dataset) == 500


def test_the_smallest_of_each_seed():
    rows = (row(8, True), row(4, False), row(6, True), row(8, True, 1), row(8, False, 2))
    found = Smallest(rows)
    assert (sorted(fewest(found)), found.censored, tried(found)) == ([6, 8], 1, [4, 6, 8])
    assert found.best["parameters"] == 600 and found.largest["parameters"] == 800
    nothing = Smallest((row(8, False),))
    assert (fewest(nothing), nothing.censored, nothing.best) == ([], 1, None)
    many = smallest([row(2, True, sequences=900), row(3, True, sequences=600)])
    assert [(N, fewest(one)) for N, one in many.items()] == [(600, [3]), (900, [2])]


@pytest.mark.parametrize(
    ("last", "wanted"),
    [
        ([row(4, True), row(3, True, 1)], "all seeds"),
        ([row(4, True), row(2, True, 1)], "some seeds"),
        ([row(2, True), row(1, True, 1)], "no"),
        ([row(8, False), row(8, False, 1)], "no"),  # not reached tells nothing
        ([row(8, False), row(3, True, 1)], "no"),
    ],
)
def test_growth_is_that_of_all_or_of_some_seeds(last, wanted):
    first = {600: Smallest((row(1, True), row(2, True, 1)))}
    assert growing({**first, 1700: Smallest(tuple(last))}) == wanted
    assert growing(first) == "no"
    assert not settled({600: Smallest((row(1, False),)), 700: Smallest((row(1, False),))})
    further = {900: Smallest((row(3, True), row(4, True, 1))), 1700: Smallest(tuple(last))}
    known = last[0]["reached"]
    assert growing({**first, **further}) == (wanted if known else "all seeds")


def test_set_ups_in_words():
    assert str(SETUPS["trained"]) == "words, their embedding learnt, read at the first one"
    assert str(SETUPS["vectors-64-last"]) == (
        "words, as fixed vectors of 64 coordinates under a learnt E_in, read at the last one, "
        "4,000 steps"
    )
    assert str(SETUPS["pieces-3"]) == (
        "pieces of up to 3 letters, their embedding learnt, read at a special token before them, "
        "4,000 steps"
    )
    assert str(SETUPS["paper"]) == f"{SETUPS['trained']}, by the authors' protocol"
    assert "embedding frozen" in str(SETUPS["frozen"])


def test_the_square_root_is_recovered_and_censored_sizes_are_left_out():
    rows = [row(k, True, sequences=k * k) for k in (10, 20, 30)]
    rows += [row(70, True, sequences=1600), row(90, True, sequences=400, seed=0)]
    found = {fit.name: fit for fit in growth.fits({"trained": rows})}
    root, line = (
        found["trained, N = 100 to 900, sqrt(N)"],
        found["trained, N = 100 to 1600, linear"],
    )
    assert root.points == 3 and line.points == 4
    assert root.coefficients == pytest.approx((0, 1), abs=1e-9)
    for steps in ((1, 1, 1), (1, 1, 2), (1, 2)):  # a step is no law
        some = [row(k, True, sequences=N) for k, N in zip(steps, (1, 4, 9), strict=False)]
        assert growth.fits({"frozen": some}) == []
    rows.append(row(90, False, sequences=900, seed=1))
    names = [fit.name for fit in growth.fits({"trained": rows})]
    assert names == ["trained, N = 100 to 1600, linear"]


@given(st.integers(1, 10**9), st.booleans())
def test_needed_blocks_have_enough_parameters_and_one_less_has_not(contexts, frozen):
    one = row(1, True, contexts=contexts)
    one["trial"]["protocol"]["frozen"] = ["embedding.weight"] * frozen
    needed, blocks = uniform_attention(contexts, 1700), growth.needed_blocks(one)
    assert growth.learnt(one, blocks) >= needed
    assert blocks == 1 or growth.learnt(one, blocks - 1) < needed


def test_a_frozen_embedding_does_not_count_as_learnt():
    trained, frozen = row(1, True), row(1, True)
    frozen["trial"]["protocol"]["frozen"] = ["embedding.weight"]
    assert growth.learnt(trained, 3) - growth.learnt(frozen, 3) == 2 * 1700
    assert growth.BLOCK == 84, "2 (2 m q + q + m) with m = 2 and q = 8"


def test_only_the_map_of_fixed_vectors_counts_as_learnt():
    one = row(1, True)
    one["trial"]["sizes"]["coordinates"] = 64
    assert growth.learnt(row(1, True), 3) - growth.learnt(one, 3) == 2 * (1700 - 64)


def test_curves_leave_out_what_blew_up_and_end_where_training_did():
    known = row(1, False, curve=[[0, 1200.0, 0.3], [50, math.inf, 0.3], [99, None, 0.3]])
    assert curves.points(known) == [(0, 2.0, 0.3), (1000, 0.1, 0.8)]


@pytest.mark.parametrize("place", (0.0, 0.2, 0.5, 0.9, 1.0))
def test_shades_are_colours(place):
    assert all(0 <= part <= 1 for part in curves.shade(place))


def test_random_points_are_about_as_close_as_expected():
    random = np.random.default_rng(0)
    points = random.random((400, 6))
    squares = ((points[:, None] - points) ** 2).sum(-1)
    np.fill_diagonal(squares, np.inf)
    assert 0.5 < math.sqrt(squares.min()) / length.closest(400, 6) < 2


def test_the_construction_grows_as_a_logarithm_of_the_length():
    sizes = [length.construction(500, n) for n in (10, 100, 1000, 10_000)]
    steps = np.diff(sizes)
    assert (steps > 0).all() and steps.max() < 2 * steps.min()


@pytest.mark.parametrize("figure", KAJITSUKA, ids=lambda one: one.name)
def test_figures_draw_whatever_rows_there_are(figure, texts):
    whole = rows_of(figure, Settings(data=texts))
    quick = rows_of(figure, Settings(quick=True, data=texts))
    for rows in (whole, quick, dict([*whole.items()][1:]), {}):
        found = picture(figure, rows)
        found.canvas.draw()
        assert "Differs: " in figure.caption(rows)
        table = figure.table(rows)
        assert {len(one) for one in table.rows} <= {len(table.columns)}
        assert bool(table.rows) == bool(rows) == bool(figure.finding(rows))
        assert bool(rows) <= any(axes.lines for axes in found.axes)
    assert sum(len(rows) for rows in quick.values()) <= 30


def test_the_limits_of_the_labels_are_drawn(texts):
    figure = KAJITSUKA[0]
    rows = rows_of(figure, Settings(quick=True, data=texts))
    loss, accuracy = picture(figure, rows).axes
    flat = [{round(float(y), 6) for y in line.get_ydata()} for line in loss.lines]
    assert {round(10 / 300, 6)} in flat
    assert any(set(line.get_ydata()) == {0.9} for line in accuracy.lines)
    assert "mean loss below 0.0333 or an accuracy above 0.900" in figure.finding(rows)


def test_what_is_not_reached_is_a_triangle_and_is_said():
    rows = {"trained": [row(20, False), row(5, True, sequences=700)]}
    axes = picture(KAJITSUKA[2], rows).axes[0]
    triangles = [line for line in axes.lines if line.get_marker() == "^"]
    assert [(list(x.get_xdata()), list(x.get_ydata())) for x in triangles] == [([600], [20])]
    ((label, setup, blocks, more, seeds),) = growth.table(rows).rows
    assert (label, setup, more, seeds) == (
        "trained",
        str(SETUPS["trained"]),
        "not known",
        "one seed",
    )
    assert blocks == "not reached (tried: 20 blocks) at N = 600, 5 blocks at N = 700"


def test_the_depths_that_were_tried_are_named():
    """Not those that the figure asks for: a sweep may be incomplete."""
    rows = {"frozen": [row(k, False, sequences=200) for k in (8, 1, 4)]}
    ((_, _, blocks, _, _),) = growth.table(rows).rows
    assert blocks == "not reached (tried: 1, 4, 8 blocks) at N = 200"
    assert tried(Smallest((row(1, True),))) == [1]


def test_a_law_is_drawn_and_named_where_it_was_fitted():
    rows = {"frozen": [row(k, True, sequences=k * k) for k in (3, 5, 6, 9)]}
    lines = [x for x in picture(KAJITSUKA[2], rows).axes[0].lines if "residual" in x.get_label()]
    assert [x.get_label().rpartition(":")[0] for x in lines] == [
        "$\\sqrt{N}$, N = 9 to 81", "linear, N = 9 to 81"
    ]  # fmt: skip
    assert all((min(x.get_xdata()), max(x.get_xdata())) == (9, 81) for x in lines)


def test_seeds_are_taken_by_quick_versions_as_well(texts):
    for figure in KAJITSUKA:
        found = figure.parts(Settings(quick=True, data=texts, seeds=3))
        assert {part.sweep.seeds for part in found} == {3}, figure.name
        assert {part.sweep.seeds for part in figure.parts(Settings(True, texts))} == {1}


# --- what came out


def test_growth_is_found_in_the_rows():
    rows = {
        "trained": [row(1, True, seed, N) for N in (600, 700) for seed in (0, 1)],
        "pieces-3": [row(1, True), row(3, True, sequences=900), row(9, False, sequences=1700)],
    }
    said = growth.finding(rows)
    assert "of 2 set-ups" in said and "in these: `pieces-3`, N = 600 to 900; and some" in said
    assert "in these: none. Some seed missed it: `pieces-3` above N = 900." in said
    lost = growth.finding({**rows, "frozen": [row(8, False)]})
    assert "`pieces-3` above N = 900, 1 set-up at the smallest N. With 1 block, 3,400" in lost
    same = dict(trained=rows["trained"])
    assert "in these: none; and some seeds do in these: none" in growth.finding(same)
    assert growth.finding({}) == ""


def test_depths_are_rows_of_the_table():
    rows = {"trained": [row(1, True, loss=61.0), row(50, True), row(50, False, 1, loss=None)]}
    assert KAJITSUKA[0].table(rows).rows == (
        ("trained", "1", "0.102", "0.800", "0.102", "1 of 1"),
        ("trained", "50", "0.100", "0.800", "diverged", "1 of 2"),
    )
    assert "trained 0.100 with 50 blocks" in KAJITSUKA[0].finding(rows)
    assert "In the paper" not in KAJITSUKA[0].finding(rows)
    worse = {"paper": [row(1, True), row(50, False)]}
    assert "paper reaches the criterion in 1 training with" in KAJITSUKA[0].finding(worse)


def test_the_published_four_blocks_are_drawn():
    rows = {"n10": [row(3, True, sequences=500), row(2, False, sequences=500)]}
    axes = picture(KAJITSUKA[3], rows).axes[0]
    assert any(set(line.get_ydata()) == {4} for line in axes.lines)
    assert any(list(line.get_ydata()) == [3] for line in axes.lines)
    assert length.table(rows).rows == (("10", "3 blocks", "0", "2, 3 blocks", "0.1", "one seed"),)
    assert length.finding(rows).startswith("With m = 6: 3 blocks at n = 10; the paper has 4")
    missed = {"n10": [*rows["n10"], row(2, True, 1), row(3, False, 2)]}
    assert length.table(missed).rows[0][:3] == ("10", "2 to 3 blocks", "1")
    narrow = {**rows, "narrow": [row(k, False, sequences=500) for k in (8, 4)]}
    assert length.table(narrow).rows[-1][:2] == ("10 (m = 2)", "not reached")
    assert "n = 10 and 4, 8 blocks: the criterion is not reached" in length.finding(narrow)
    assert set(length.by_length(narrow)) == {10}


def test_real_rows_are_drawn(texts):
    pytest.importorskip("torch")
    pytest.importorskip("pytorch_optimizer")
    from byheart.lab.train import run

    for figure in (KAJITSUKA[0], KAJITSUKA[3]):
        part = figure.parts(Settings(quick=True, data=texts))[0]
        how = part.sweep.protocol
        short = replace(how, attempts=(replace(how.attempts[0], steps=2),))
        data = {"sequences": len(part.dataset), **part.sweep.data}
        sweep = replace(part.sweep, protocol=short, data=data)
        material = Material(part.dataset, sweep.architecture, data.get("loss") == "squared")
        trial = sweep.trials()[0]
        rows = {part.label: [run(trial, material.of(trial))]}
        picture(figure, rows).canvas.draw()
        assert "Ours: 1 trainings" in figure.caption(rows)
