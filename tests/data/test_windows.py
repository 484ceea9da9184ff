"""Contexts of a text that are not written out: the same data, networks and answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart.data import arrays
from byheart.data import contexts as contexts_of
from byheart.data.arrays import Windows, offsets, pieces, take
from byheart.data.contexts import contexts
from byheart.data.readers import corpus
from byheart.exact import batch
from byheart.exact.limbs import engine
from byheart.models.kinds import kind_of

TEXT = "to be or not to be that is the question whether tis nobler in the mind to suffer " * 2


@pytest.fixture
def both(tmp_path, monkeypatch):
    """A function: a text with each window written out, and not."""

    def read(text, **options):
        (tmp_path / "text.txt").write_text(text)
        options = {"documents": "whole", **options}
        monkeypatch.setattr(arrays, "WRITTEN", 1 << 24)
        written = byheart.load(tmp_path / "text.txt", **options)
        monkeypatch.setattr(arrays, "WRITTEN", 0)
        monkeypatch.setattr(arrays, "OVERLAP", 0)
        views = byheart.load(tmp_path / "text.txt", **options)
        assert isinstance(written.ids, np.ndarray) and isinstance(views.ids, Windows)
        return written, views

    return read


def same(one, two):
    assert one.sha256() == two.sha256() and list(one) == list(two)
    assert one.tokens == two.tokens and one.label_names == two.label_names


@given(st.lists(st.integers(0, 9), min_size=1), st.data())
def test_windows_read_as_what_they_stand_for(values, draw):
    values = np.array(values)
    size = len(values)
    begins = np.array(draw.draw(st.lists(st.integers(0, size - 1), min_size=1)))
    lengths = np.array([draw.draw(st.integers(1, size - begin)) for begin in begins.tolist()])
    whole, starts = take(values, begins, lengths), offsets(lengths)
    windows = Windows(values, begins, starts)
    a, b = sorted(draw.draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
    assert len(windows) == len(whole) and (windows[a:b] == whole[a:b]).all()
    places = np.array(draw.draw(st.lists(st.integers(0, len(whole) - 1))), np.int64)
    assert (windows[places] == whole[places]).all() and (np.asarray(windows) == whole).all()
    distinct, numbers = windows.numbered()
    assert distinct.tolist() == sorted(set(whole.tolist()))
    assert (distinct[np.asarray(numbers)] == whole).all()
    some = np.arange(0, len(lengths), 2)
    kept = pieces(windows, starts[some], lengths[some])
    assert (np.asarray(kept) == take(whole, starts[some], lengths[some])).all()


@pytest.mark.parametrize("options", [{}, {"reject_unknown": 9}, {"positions": False}])
def test_the_network_of_a_text_does_not_depend_on_how_its_contexts_are_held(both, options):
    written, views = both(TEXT, window="auto")
    same(written, views)
    one, two = (
        byheart.compile(data, on_conflict="majority", **options) for data in (written, views)
    )
    weights = [b"".join(kind_of(model).store.weights(model)) for model in (one, two)]
    assert weights[0] == weights[1] and one.claim == two.claim
    assert two.verification.evidence == "proved" and two.verification.checked == len(views)
    other = byheart.verify(two, written)
    assert (other.evidence, other.correct) == ("proved", len(written))


@pytest.mark.parametrize("positions", [True, False])
def test_contexts_and_conflicts_are_the_same(both, positions):
    written, views = both(TEXT, window=2)
    one, two = (contexts(data, positions) for data in (written, views))
    assert (one.group == two.group).all() and one.conflicts(written).any()
    same(written.subset(one.first).occurring(), views.subset(two.first).occurring())
    same(written.prefix(9), views.prefix(9))
    for choice in ("majority", "drop"):
        models = [byheart.compile(x, on_conflict=choice) for x in (written, views)]
        assert models[0].record.conflicts == models[1].record.conflicts


def test_a_wrong_word_is_found_in_windows(both):
    written, views = both(TEXT, window="auto")
    model = byheart.compile(views)
    for data in both(TEXT.replace("mind", "rain"), window=views.length):
        found = byheart.verify(model, data)
        assert found.evidence == "refuted" and 0 < found.correct < found.checked


def test_the_kernels_get_the_columns_of_a_few_sequences_at_once(both, monkeypatch):
    """Memory is bounded by the text, not by its length times the window."""
    _, views = both(TEXT, window="auto")
    model, most = byheart.compile(views), []
    index = batch.Columns.index

    def counted(self, part):
        found = index(self, part)
        most.append(found.size)
        return found

    monkeypatch.setattr(batch.Columns, "index", counted)
    for module in (batch, engine):
        monkeypatch.setattr(module, "BLOCK", 4 * views.length)
    assert byheart.verify(model, views, engine="limbs").evidence == "proved"
    assert max(most) <= 4 * views.length and len(most) > 5


def test_columns_that_do_not_fit_are_refused_in_one_sentence(both, monkeypatch):
    _, views = both(TEXT, window="auto")
    monkeypatch.setattr("byheart.machine.memory.available", lambda: 1000)
    with pytest.raises(byheart.ByheartError, match="a column per token and position needs"):
        byheart.compile(views)


def test_a_window_that_is_too_large_for_one_model_leaves_out_few_places(tmp_path, monkeypatch):
    rare = "a b c d e f g h i j"  # twice, with two continuations: a window of 11 tells them apart
    path = tmp_path / "text.txt"
    path.write_text(" ".join(["start", rare, "one", *map(str, range(300)), rare, "two"]))
    read = {"documents": "whole", "window": "auto"}
    assert byheart.load(path, **read).loading["window"] == 11
    monkeypatch.setattr(corpus, "available", lambda: corpus.AUTO * 11 * 320)
    capped = byheart.load(path, **read)
    assert capped.loading["window"] == 1
    assert "contexts of 11 tokens would tell all places apart" in capped.notes[0]
    assert "leaves 2 of 323 places with several continuations" in capped.notes[0]
    with pytest.raises(byheart.ByheartError, match=r"1 context \(2 sequences\) .*'drop'"):
        byheart.compile(capped)
    found = byheart.compile(capped, on_conflict="drop").verification
    assert (found.evidence, found.checked) == ("proved", 320)


def test_a_large_text_is_advised_what_works_for_it(tmp_path, monkeypatch):
    path = tmp_path / "lines.txt"
    path.write_text("the cat sat\nthe dog sat\n")
    with pytest.raises(byheart.ByheartError) as small:
        byheart.compile(byheart.load(path))
    monkeypatch.setattr(contexts_of, "LARGE", 2)
    with pytest.raises(byheart.ByheartError) as large:
        byheart.compile(byheart.load(path))
    assert "window='auto', which reads" in str(small.value)
    assert "window='auto' with on_conflict='drop', which reads" in str(large.value)
