"""Figure 1 of Madden et al.: what is trained, what rows say, what is drawn from them."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from byheart.architectures import architecture
from byheart.data.load import load
from byheart.errors import ByheartError
from byheart.figures.figure import Settings, censored, gap, picture, spread
from byheart.figures.madden import MADDEN_1, MADDEN_2, feed_forward
from byheart.figures.madden.cells import (
    CRITERION,
    _short,
    by_place,
    place,
    predictions,
    published,
    smallest,
    steps,
)
from byheart.figures.madden.whole import paper, repeated
from byheart.figures.published import column, read
from byheart.lab.problem import next_token
from byheart.theory.madden2024.capacity import theorem_1_parameters, theorem_5_parameters

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "data" / "tinystories.txt"
specification = importlib.util.spec_from_file_location("samples", HERE / "rows_of_madden.py")
samples = importlib.util.module_from_spec(specification)
specification.loader.exec_module(samples)
row = samples.row


def few(**more):
    """Two sizes of data; 8 neurons are too few, and 16 for the larger one."""
    return {
        "fast": [
            row(100, 8, 90.0), row(100, 16, 1.5), row(100, 32, 0.01),
            row(200, 8, 400.0), row(200, 16, 30.0), row(200, 32, 0.5),
        ],
        "paper-100": [row(100, 16, 1.9, name="paper")],
        "paper-200": [row(200, 32, 0.2, name="paper"), row(200, 16, 50.0, name="paper")],
        **more,
    }  # fmt: skip


# --- the authors' numbers


@pytest.mark.parametrize("figure", ("madden", "madden-2"))
def test_published_parameters_are_those_of_the_architecture(figure):
    for each in read(f"{figure}-smallest"):
        sizes = {"vocabulary": each["vocabulary"], "neurons": each["neurons"]}
        assert (
            architecture("madden2024", {**sizes, "attention_biases": True}).parameters
            == (each["parameters"])
        )


@pytest.mark.parametrize("figure", ("madden", "madden-2"))
def test_published_tables_agree(figure):
    heat, line = read(f"{figure}-heat-map"), read(f"{figure}-smallest")
    assert len(heat) == 80 and len(line) == 10
    assert {(x["stories"], x["contexts"], x["vocabulary"]) for x in heat} == {
        (x["stories"], x["contexts"], x["vocabulary"]) for x in line
    }
    for each in line:  # a cell that is framed has a smaller gap than those left of it
        gaps = {x["neurons"]: x["gap"] for x in heat if x["stories"] == each["stories"]}
        less = [gaps[m] for m in gaps if m < each["neurons"]]
        assert gaps[each["neurons"]] < min(less)


def test_published_accuracies_are_complete():
    found = read("dana")
    counts = {name: sum(x["experiment"] == name for x in found) for name in {
        x["experiment"] for x in found}}  # fmt: skip
    later = {"heads": 2 * 18, "head-dimension": 11 + 10, "mlp": 2 * 18}
    assert counts == {
        "heads": 77 + later["heads"], "head-dimension": 10 + later["head-dimension"],
        "dimension": 11, "attention": 21, "mlp": 21 + later["mlp"], "plane": 6,
    }  # fmt: skip
    assert all(0 < x["accuracy"] <= 1 for x in found)
    mlp = [x for x in found if x["experiment"] == "mlp"]
    for layers, vocabulary, sizes, heads in (
        (1, 70, (7, 10, 13), range(1, 32, 5)),
        (1, 200, (40, 50, 60), range(1, 12, 2)),
        (3, 70, (7, 10, 13), range(1, 22, 4)),
    ):
        for d in sizes:
            some = [x for x in mlp if (x["layers"], x["vocabulary"]) == (layers, vocabulary)]
            widths = [x["width"] for x in some if x["dimension"] == d]
            assert widths == [2 * d * (H - 1) for H in heads]


# --- what is trained


def stories(count, words=12):
    random = np.random.default_rng(0)
    return [" ".join(f"w{i}" for i in random.integers(0, 30, words)) for _ in range(count)]


def test_stories_under_ten_words_are_left_out():
    found = predictions(["too short.", *stories(1, words=9), *stories(3), "x"], 3)
    assert len(found) == 27 and found.length == 9
    assert found.sequence(8) == stories(3)[0].split()[:9]
    assert found.label(8) == stories(3)[0].split()[9]
    with pytest.raises(
        ByheartError, match="needs 4 stories of 10 words or more, but the data has only 3"
    ):
        predictions(["too short.", *stories(3)], 4)


def test_the_data_is_what_load_makes_of_the_same_stories(tmp_path):
    path = tmp_path / "stories.txt"
    path.write_text("\n<|endoftext|>\n".join(stories(5)))
    assert predictions(stories(5), 5).sha256() == load(path, unit="wordpunct", length=10).sha256()


def test_the_parts(tmp_path):
    path = tmp_path / "stories.txt"
    path.write_text("\n".join(stories(1000)))
    parts = MADDEN_1.parts(Settings(data=path))
    assert [part.label for part in parts] == [
        "fast", *(f"{how}-{n}00" for how in ("fast", "paper") for n in (1, 2, 3, 4))
    ]  # fmt: skip
    grid, *rest = (part.sweep for part in parts)
    assert len(grid.trials()) == 150 and sum(len(each.trials()) for each in rest) == 28
    assert [each.protocol.name for each in (grid, *rest)] == ["fast"] * 5 + ["paper"] * 4
    assert [each.seeds for each in (grid, *rest)] == [1, 3, 3, 3, 3, 1, 1, 1, 1]
    assert all(trial in _places(grid) for each in rest for trial in _places(each))
    assert {each.criterion for each in (grid, *rest)} == {CRITERION}
    quick = MADDEN_1.parts(Settings(quick=True, data=path, seeds=2))
    assert [len(part.sweep.trials()) for part in quick] == [16]


def _places(sweep):
    return {(trial.data["sequences"], trial.sizes["neurons"]) for trial in sweep.trials()}


@pytest.mark.skipif(not SHARED.exists(), reason="the stories are not here")
def test_the_stories_have_a_hundredth_of_their_entropy_to_reach():
    from byheart.figures.data import stories as told

    problem = next_token(predictions(told(SHARED), 1000))
    assert problem.predictions == 9000 and 1500 < len(problem) < 3500
    assert problem.entropy > 1000 and not CRITERION.reached(problem, 1.02 * problem.entropy, 1.0)


# --- what the rows say


def test_cells_and_the_smallest():
    found = smallest(few())
    assert [(each.best["contexts"], place(each.best)) for each in found.values()] == [
        (300, (100, 16)), (600, (200, 32)),
    ]  # fmt: skip
    assert all(each.censored == 0 for each in found.values())
    assert list(by_place(few()["fast"])) == [
        (100, 8),
        (100, 16),
        (100, 32),
        (200, 8),
        (200, 16),
        (200, 32),
    ]
    assert set(paper(few())) == {(100, 16), (200, 16), (200, 32)}
    assert censored(few()) == 4 and steps(few()["fast"]) == sum(
        each["planned"] for each in few()["fast"][0]["attempts"]
    )


def test_a_seed_that_does_not_get_there_is_censored():
    rows = [row(100, 8, 0.1), row(100, 8, 9.0, seed=1), row(100, 16, 8.0, seed=1)]
    found = smallest({"fast": rows})[100]
    assert (len(found.reached), found.censored) == (1, 1)
    assert place(found.largest) == (100, 16)


def test_a_cell_is_as_good_as_its_best_seed():
    rows = [row(100, 8, 0.1), row(100, 8, 9.0, seed=1), row(100, 8, None, seed=2)]
    assert by_place(rows)[100, 8].gap == pytest.approx(0.1) and by_place(rows)[100, 8].reached
    assert not by_place(rows[1:])[100, 8].reached


def test_the_grid_has_no_seeds_of_the_comparison():
    """150 cells of one seed each stay so where some cells were trained with more seeds."""
    again = [row(100, 8, 9.0), row(100, 8, 0.1, seed=1)]
    rows = {"fast": again[:1], "fast-100": again, "paper-100": [row(100, 8, 5.0, name="paper")]}
    assert len(by_place(rows["fast"])[100, 8].rows) == 1 and len(repeated(rows)[100, 8].rows) == 2
    assert MADDEN_1.table(rows).rows == (("100", "8", "0.1", "5", "19.6"),), "our best of 2 seeds"
    found = drawn(rows)
    assert found.axes[0].texts[0].get_text() == "9.0" and len(found.axes[0].patches) == 0
    assert list(lines(found.axes[-1])["our protocol"].get_ydata()) == pytest.approx([9.0, 0.1])
    assert "not reached by any size tried" in lines(found.axes[3])


def test_a_comparison_without_its_own_seeds_is_of_the_grid():
    assert repeated(few()) == by_place(few()["fast"])


def test_any_seed_counts_and_the_spread_is_shown():
    """The smallest m over all seeds is framed; a triangle stands where no seed got there."""
    rows = {"fast": [
        row(100, 8, 0.1), row(100, 16, 0.1), row(100, 8, 9.0, seed=1), row(100, 16, 0.1, seed=1),
        row(100, 8, 9.0, seed=2), row(100, 16, 9.0, seed=2), row(200, 8, 9.0), row(200, 16, 9.0),
    ]}  # fmt: skip
    found = smallest(rows)
    assert place(found[100].best) == (100, 8) and found[100].censored == 1
    assert found[200].best is None
    axes = drawn(rows).axes
    (frame,) = axes[0].patches
    assert frame.get_x() == -0.5, "the column of 8 neurons"
    mark = lines(axes[3])["not reached by any size tried"]
    assert list(mark.get_xdata()) == [600]
    small, large = rows["fast"][0]["parameters"], rows["fast"][1]["parameters"]
    (bar,) = (x.get_segments()[0] for x in axes[3].collections)
    assert bar.tolist() == [[300, small], [300, large]]


def test_parts_beside_the_grid_are_drawn_without_it():
    found = drawn({"paper-100": few()["paper-100"], "fast-100": [row(100, 16, 1.0)]})
    assert list(lines(found.axes[-1])["our protocol"].get_ydata()) == pytest.approx([1.0])


def test_a_training_that_blew_up_has_no_gap():
    rows = [row(100, 8, None), row(100, 8, None, seed=1)]
    assert gap(rows[0]) is None and by_place(rows)[100, 8].gap is None
    assert drawn({"fast": rows}).axes[0].texts[0].get_text() == "-"


def test_a_gap_is_never_negative():
    """Rounding may leave the loss a little below the entropy."""
    assert gap({"loss": 1.0, "entropy": 1.0000001}) == 0


def test_spread():
    assert spread([1.0, 5.0, 3.0]) == (3.0, 1.0, 5.0)


def test_fits_are_of_the_smallest_that_a_seed_found():
    found = {fit.name: fit for fit in MADDEN_1.fits(few())}
    ours = found["parameters, ours, linear"]
    sizes = [few()["fast"][1]["parameters"], few()["fast"][5]["parameters"]]
    slope = (sizes[1] - sizes[0]) / 300
    assert ours.coefficients == pytest.approx((sizes[0] - 300 * slope, slope))
    assert found["neurons, ours, linear"].coefficients == pytest.approx((0, 16 / 300))
    table = read("madden-smallest")
    x, y = column(table, "contexts"), column(table, "parameters")
    assert found["parameters, published, linear"].coefficients == pytest.approx(
        tuple(np.polyfit(x, y, 1)[::-1])
    )
    lost = {"fast": [*few()["fast"], row(300, 8, 50.0)]}
    assert MADDEN_1.fits(lost)[0] == ours
    other = {"fast": [*few()["fast"], row(100, 32, 0.1, seed=1), row(200, 8, 9.0, seed=1)]}
    assert MADDEN_1.fits(other)[0] == ours
    only = [fit.name for fit in MADDEN_1.fits({"fast": few()["fast"][:3]})]
    assert only == ["parameters, published, linear", "neurons, published, linear"]


# --- in words


def test_the_finding_is_the_numbers_of_the_rows():
    said = MADDEN_1.finding(few())
    assert "is 16 for 100 stories and 32 for 200 stories; published" in said
    assert said.endswith("on powers of two: 16 to 32.")
    lost = MADDEN_1.finding({"fast": [row(300, 8, 50.0)]})
    assert "is not reached with up to 8 for 300 stories" in lost
    assert MADDEN_1.finding({}) == ""


def test_the_table_compares_the_protocols_where_both_were_run():
    rows = MADDEN_1.table(few()).rows
    assert len(rows) == 3 and ("100", "16", "1.5", "1.9", "5.35") in rows


# --- the picture


def drawn(rows):
    pytest.importorskip("matplotlib")
    found = picture(MADDEN_1, rows)
    found.canvas.draw()
    return found


def lines(axes):
    return {line.get_label(): line for line in axes.lines}


def test_everything_is_on_the_picture():
    ours, theirs, _, line, protocols = drawn(few()).axes
    assert [text.get_text() for text in ours.texts[:3]] == ["90", "1.5", ".01"]
    assert len(ours.patches) == 2 and len(theirs.patches) == 10
    assert sum(each.get_marker() == "^" for each in ours.lines) == 3
    assert len(theirs.texts) == len(published()) == 80
    heights = [[dict(each.get_xydata()).get(n) for n in (300, 600)] for each in line.lines]
    words = [each["vocabulary"] for each in few()["fast"][::3]]
    enough = [theorem_5_parameters(n, w, 9) for n, w in zip((300, 600), words, strict=True)]
    needed = [theorem_1_parameters(n, w) for n, w in zip((300, 600), words, strict=True)]
    assert enough in heights and needed in heights
    shown = lines(protocols)
    assert list(shown["our protocol"].get_ydata()) == pytest.approx([1.5, 30.0, 0.5])
    assert list(shown["the authors' protocol"].get_ydata()) == pytest.approx([1.9, 50.0, 0.2])
    assert list(shown["published"].get_ydata()) == pytest.approx([5.35, 3.626, 1.285])


def test_what_no_size_reached_is_a_triangle_at_the_largest():
    rows = {"fast": [row(100, 8, 9.0), row(100, 16, 5.0), row(200, 8, 0.1)]}
    line = drawn(rows).axes[3]
    mark = lines(line)["not reached by any size tried"]
    assert mark.get_marker() == "^"
    assert list(mark.get_ydata()) == [rows["fast"][1]["parameters"]]


def test_numbers_of_cells_are_short():
    values = (57_000.0, 7609.0, 62.82, 5.35, 0.0388, 0.004, None)
    assert [_short(x) for x in values] == ["57k", "7.6k", "63", "5.3", ".04", "<.01", "-"]
    assert all(len(_short(x)) <= 4 for x in np.geomspace(1e-5, 9e5, 2000))


def test_a_picture_is_the_same_twice(tmp_path):
    from byheart.pictures import write

    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        write(lambda rows: picture(MADDEN_1, rows), few(), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert re.search(rb"</svg>\s*$", (tmp_path / "a.svg").read_bytes())


def test_figures_are_imported_without_what_trains_or_draws():
    heavy = {"torch", "matplotlib", "optuna", "datasets"}
    program = f"import sys, byheart.figures; sys.exit(bool({heavy!r} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", program], cwd=HERE.parents[1]).returncode == 0


# --- only the feed-forward part is trained


def second(**more):
    """A search by two seeds on two sizes of data, one seed without success on the larger one."""
    rows = [row(100, 16, 9.0), row(100, 24, 0.5), row(100, 16, 0.5, seed=1)]
    rows += [row(200, 24, 9.0), row(200, 40, 0.5), row(200, 128, 9.0, seed=1)]
    return {"fast": rows, **more}


def test_all_that_is_not_trained_is_frozen_and_counted(tmp_path):
    path = tmp_path / "stories.txt"
    path.write_text("\n".join(stories(1000)))
    found = {part.label: part.sweep for part in MADDEN_2.parts(Settings(data=path))}
    assert tuple(found) == MADDEN_2.labels == ("fast", "paper")
    assert [(each.find, each.seeds) for each in found.values()] == [(True, 3), (False, 1)]
    sizes = {"vocabulary": 182, "neurons": 32, "attention_biases": True}
    tensors = architecture("madden2024", sizes).tensors
    for sweep in found.values():
        learnt = {name: x for name, x in tensors.items() if name not in sweep.protocol.frozen}
        assert set(sweep.protocol.frozen) < set(tensors)
        assert set(learnt) == {f"{x}.{y}" for x in ("hidden", "output") for y in ("weight", "bias")}
        assert sum(np.prod(x) for x in learnt.values()) == feed_forward.trained(32, 182)
    (quick,) = (part.sweep for part in MADDEN_2.parts(Settings(quick=True, data=path)))
    assert (quick.seeds, len(quick.places)) == (1, 2)


def test_frozen_tensors_keep_their_start():
    from byheart.lab import train
    from byheart.lab.learners import learner
    from byheart.lab.protocol import Attempt, Protocol
    from byheart.lab.trial import Trial

    problem = next_token(predictions(stories(3), 3))
    how = Protocol("fast", (Attempt("adam", 0.01, 3),), frozen=feed_forward.FROZEN)
    data = {"sequences": 27, "sha256": ""}
    trial = Trial("madden2024", {"dimension": 16, "neurons": 4}, data, how, CRITERION, 0)
    _, after = train.train(trial, problem)
    seed = trial.random_seed("start", 0)
    before = learner(trial.architecture_for(problem), problem, seed, 1.0)
    moved = {name for name, x in after.named().items() if (x != before.named()[name]).any()}
    assert moved == {"hidden.weight", "hidden.bias", "output.weight", "output.bias"}


def test_any_distributions_need_as_many_trained_parameters_as_lemma_1_says():
    for n, w in ((377, 182), (2637, 690)):
        m = feed_forward.needed(n, w)
        assert feed_forward.trained(m, w) >= n * (w - 1) > feed_forward.trained(m - 1, w)
        assert m < n, "Theorem 5: n neurons are enough"


def test_the_smallest_are_told_by_seed():
    first, other = MADDEN_2.table(second()).rows
    assert first[:4] == ("100", "300", "24 (not 16), 16", f"{16 * 17 + 150 * 17:,}")
    assert first[4].endswith(" to 300") and first[5:] == ("377", "32")
    assert other[2] == "40 (not 24), not with 128" and other[5:] == ("699", "64")
    said = MADDEN_2.finding(second(paper=[row(100, 32, 5.0, name="paper")]))
    assert "is 16 for the 300 contexts of 100 stories and 40 (not 24) for the 600 contexts" in said
    assert "m = 32 ends 5 nats above the entropy (published 6.32)" in said
    assert MADDEN_2.finding({}) == ""


def test_a_search_that_is_not_finished_is_not_fitted():
    """12 is the least that is tried; of 16 it is known only after 12 was tried in vain."""
    name = "neurons, ours, linear"
    assert name not in {fit.name for fit in MADDEN_2.fits(second())}
    known = second(fast=[*second()["fast"], row(100, 12, 9.0, seed=1)])
    found = {fit.name: fit for fit in MADDEN_2.fits(known)}
    assert found[name].coefficients == pytest.approx((-8, 0.08))


def test_a_picture_of_the_second_experiment():
    pytest.importorskip("matplotlib")
    for rows in ({}, second(), {"paper": [row(100, 32, 5.0, name="paper")]}):
        found = picture(MADDEN_2, rows)
        found.canvas.draw()
        assert len(found.axes) == 4 and len(found.axes[1].texts) == 80
    lost = {"fast": [row(100, 16, 0.5), row(200, 16, 9.0), row(200, 24, 9.0)]}
    mark = lines(picture(MADDEN_2, lost).axes[-1])["not reached by any m tried"]
    assert (list(mark.get_xdata()), list(mark.get_ydata())) == ([600], [24])
