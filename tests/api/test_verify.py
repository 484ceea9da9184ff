"""verify judges what the network says, and nothing that only looks right passes."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from byheart import ByheartError, compile, contextual_mapping, from_rows, load, verify
from byheart.exact.answer import batch_of
from byheart.exact.network import Linear, matrix, vector

ROWS = [(["a", "b"], "x"), (["b", "a"], "y"), (["b"], "x"), (["a", "a"], "y")]


@pytest.fixture(scope="module")
def model():
    return compile(from_rows(ROWS))


def test_proved(model):
    found = verify(model, from_rows(ROWS))
    assert (found.evidence, found.checked, found.correct, found.failures) == ("proved", 4, 4, ())


@pytest.mark.parametrize("engine", ["exact", "limbs"])
def test_a_changed_label_is_refuted(model, engine):
    found = verify(model, from_rows([*ROWS[:3], (["a", "a"], "x")]), engine)
    assert (found.evidence, found.correct) == ("refuted", 3)
    assert found.failures == (
        "the data is not what the model was made from: its hash differs",
        f"sequence 4: the label is 'x', the network says 'y' (output {model.labels.index('y')})",
    )


def test_a_word_or_label_the_model_does_not_know_is_wrong(model):
    # an unknown word is read as padding, so the network may well give the right output
    found = verify(model, from_rows([(["b"], "x"), (["new", "b"], "x"), (["b"], "new")]))
    assert (found.evidence, found.correct) == ("refuted", 1)


def test_no_output_stands_for_a_missing_label(model):
    """A network that answers -1 must not pass as right on a label that it does not have."""
    last = Linear(matrix(1, model.network.width, {}), vector({0: -1}, 1), "output")
    always = replace(model.network, layers=(*model.network.layers[:-1], last))
    found = verify(replace(model, network=always), from_rows([(["a", "b"], "new")]))
    assert (found.evidence, found.correct) == ("refuted", 0)


def test_a_sample_is_no_proof(model):
    found = verify(model, from_rows(ROWS), sample=3, seed=1)
    assert (found.evidence, found.checked, found.correct, found.holds) == ("sampled", 3, 3, False)
    assert verify(model, from_rows(ROWS), sample=3, accept="sampled").holds
    assert not verify(model, from_rows(ROWS), sample=3, accept=["observed"]).holds
    with pytest.raises(
        ByheartError, match="accept must be one of sampled, observed, not 'refuted'"
    ):
        verify(model, from_rows(ROWS), accept="refuted")
    assert verify(model, from_rows(ROWS), sample=4).evidence == "proved"
    assert verify(model, from_rows(ROWS), sample=99).checked == 4
    wrong = from_rows([*ROWS[:3], (["a", "a"], "x")])  # other data, whatever the sample
    found = [verify(model, wrong, sample=2, seed=seed) for seed in range(20)]
    assert {one.correct for one in found} == {1, 2} and all(one.refuted for one in found)


@pytest.mark.parametrize("seed", [-1, None, 1.5, True, "1"])
def test_a_seed_is_an_integer_from_0(seed, model):
    with pytest.raises(ByheartError, match="seed must be an integer of at least 0"):
        verify(model, from_rows(ROWS), sample=2, seed=seed)


# --- a label for every token, and empty sequences


TAGS = [(["a", "b"], ["x", "y"]), (["b", "b", "c"], ["y", "y", "z"])]


@pytest.fixture(scope="module")
def tagger():
    return compile(from_rows(TAGS))


@pytest.mark.parametrize("engine", ["exact", "limbs"])
def test_labels_of_tokens_are_counted_one_by_one(tagger, engine):
    found = verify(tagger, from_rows(TAGS), engine)
    assert (found.evidence, found.checked, found.correct) == ("proved", 5, 5)
    found = verify(tagger, from_rows([TAGS[0], (["b", "b", "c"], ["y", "y", "x"])]), engine)
    assert (found.evidence, found.checked, found.correct) == ("refuted", 5, 4)
    _, sentence = found.failures
    assert sentence.startswith("sequence 2, token 3: the label is 'x', the network says 'z'")


def test_a_word_or_label_that_the_tagger_does_not_know_is_wrong(tagger):
    found = verify(tagger, from_rows([TAGS[0], (["b", "new", "c"], ["y", "y", "z"])]))
    assert (found.checked, found.correct) == (5, 2)  # the whole sequence has no answer
    found = verify(tagger, from_rows([(["a", "b"], ["x", "new"])]))
    assert (found.checked, found.correct) == (2, 1)


def test_a_sample_of_sequences_checks_all_their_tokens(tagger):
    found = {verify(tagger, from_rows(TAGS), sample=1, seed=seed).checked for seed in range(9)}
    assert found == {2, 3}


def test_data_of_the_other_kind_is_refuted(model, tagger):
    other = verify(tagger, from_rows(ROWS)).failures[0]
    assert "label for every token, and the data has one for" in other
    other = verify(model, from_rows(TAGS)).failures[0]
    assert "label for the sequence, and the data has one for" in other


def test_empty_sequences_are_read_by_deep_sets_only(model):
    rows = [([], "x"), (["a"], "y"), (["a", "b"], "x")]
    assert "at least 1 token" in verify(model, from_rows(rows)).failures[0]
    with pytest.raises(ByheartError, match="1 to 2 tokens"):
        model.recall([])
    sets = compile(from_rows(rows), method="deep-sets")
    assert verify(sets, from_rows(rows)).evidence == "proved"
    found = verify(sets, from_rows([([], "y"), *rows[1:]]))
    assert (found.evidence, found.correct) == ("refuted", 2)
    assert sets.recall([]) == "x"


def test_longer_and_other_data_are_refuted(model):
    assert "at most 2" in verify(model, from_rows([(["a", "b", "a"], "x")])).failures[0]
    assert "number tokens" in verify(model, from_rows([([1, 2], "x")])).failures[0]


# --- numbers at the ends of their range


@pytest.fixture(scope="module")
def large():
    rows = [([2**70], "x"), ([0.5, -(2.0**70)], "y"), ([7], "x")]
    return compile(from_rows(rows)), from_rows(rows)


def test_integers_beyond_64_bits_that_are_doubles_are_asked_about(large):
    model, data = large
    assert verify(model, data).evidence == "proved"
    assert model.recall([2**70]) == model.recall([2.0**70]) == "x"
    assert model.recall([0.5, -(2**70)]) == "y"


def test_what_no_type_holds_exactly_is_refused_and_not_rounded(large):
    model, _ = large
    for tokens in ([2**70 + 1], [2**53 + 1, 0.5], [2**2000], [-(10**400)]):
        with pytest.raises(ByheartError, match="a token cannot be read: .*integer"):
            model.recall(tokens)
    for tokens in ([float("inf")], [float("nan")], [None], ["7"], [True]):
        with pytest.raises(ByheartError, match="made of finite numbers"):
            model.recall(tokens)
    with pytest.raises(ByheartError, match="must have 2 coordinates"):
        compile(from_rows([([[1, 2]], "x"), ([[2, 1]], "y")])).recall([1])
    batch = batch_of(model.network, [[[2**53 + 1], [2.0]]])
    assert batch.vectors.tolist() == [[2**53 + 1], [2]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("engine", ["exact", "limbs"])
def test_the_least_integer_is_a_token(engine):
    rows = [([-(2**63)], "x"), ([2**63 - 1, -(2**63)], "y")]
    model = compile(from_rows(rows))
    assert verify(model, from_rows(rows), engine).evidence == "proved"
    assert model.recall([-(2**63)]) == "x"


def test_an_answer_of_thousands_of_digits_is_told_by_its_length(model):
    last = Linear(matrix(1, model.network.width, {}), vector({0: 10**5000}, 1), "output")
    always = replace(model.network, layers=(*model.network.layers[:-1], last))
    found = verify(replace(model, network=always), from_rows(ROWS))
    assert (found.evidence, found.correct) == ("refuted", 0)
    assert found.failures[0].endswith("says None (output a number of 16610 bits)")


# ---------------------------------------------------------------- objects instead of a Dataset

PAIRS = [("The capital of France is", "Paris"), ("The capital of Peru is", "Lima")]
RECORDS = [{"prompt": prompt, "answer": label} for prompt, label in PAIRS]
NAMED = {"input": "prompt", "label": "answer"}


def frames(records):
    """The records as other objects that have columns."""
    for library, made in (
        ("pandas", lambda x: x.DataFrame(records)),
        ("datasets", lambda x: x.Dataset.from_list(records)),
    ):
        try:
            yield made(importlib.import_module(library))
        except ImportError:
            continue


def test_objects_are_read_as_the_data_of_the_model_was():
    text = compile(PAIRS)
    assert verify(text, PAIRS).evidence == verify(text, iter(PAIRS)).evidence == "proved"
    chars = compile(load(PAIRS, unit="char"))
    assert verify(chars, PAIRS).checked == 2 and verify(chars, PAIRS).holds
    # tokens need no rule for text
    tokens = [(list(prompt), label) for prompt, label in PAIRS]
    assert verify(chars, tokens).holds
    assert "a sequence with 24" in verify(text, tokens).failures[0]
    for objects in (RECORDS, *frames(RECORDS)):
        chosen = compile(load(objects, **NAMED))
        assert verify(chosen, objects).holds and verify(chosen, PAIRS).holds


def test_objects_with_a_wrong_label_are_refuted():
    wrong = [PAIRS[0], (PAIRS[1][0], "Paris")]
    found = verify(compile(PAIRS), wrong)
    assert (found.evidence, found.correct) == ("refuted", 1)


def test_what_leaves_out_a_part_of_objects_must_be_repeated():
    wider = [{**record, "other": i} for i, record in enumerate(RECORDS)]
    chosen = compile(load(wider, **NAMED))
    found = verify(chosen, wider)
    assert (found.evidence, found.correct, found.holds) == (None, 2, False)
    assert found.failures[0].endswith("and the data has others: 'other' (input=..., label=...)")
    assert verify(chosen, wider, **NAMED).holds
    short = compile(load([("a b", "x"), ("b c", "y")], length=1))
    longer = [("a b", "x"), ("b z", "y")]
    said = verify(short, longer)
    assert not said and said.failures[0] == (
        "2 of 2 rows of the data were not read in full: the model stops at 1 token (length=...)"
    )
    assert verify(short, longer, length=1).holds
    gaps = [*RECORDS, {"prompt": "x", "answer": None}]
    skipped = compile(load(gaps, **NAMED, empty="skip"))
    assert verify(skipped, gaps).failures[0].startswith("1 of 3 rows of the data was not read")
    assert verify(skipped, gaps, empty="skip").holds
    nested = {"data": {"rows": RECORDS}, "version": 1}
    inside = compile(load(nested, records="data.rows", **NAMED))
    assert "(records=...)" in verify(inside, nested).failures[0]
    assert verify(inside, nested, records="data.rows").holds and verify(inside, RECORDS).holds


def test_a_path_is_read_as_on_the_command_line(tmp_path):
    path = tmp_path / "capitals.csv"
    path.write_text("prompt,answer\n" + "".join(f"{x},{y}\n" for x, y in PAIRS))
    chosen = compile(load(path, **NAMED))
    assert verify(chosen, path, **NAMED).holds and verify(chosen, str(path), header="first").holds
    with pytest.raises(TypeError, match="unexpected keyword argument 'sampel'"):
        verify(chosen, path, sampel=3)


def test_numbers_of_a_table_of_version_0_1_are_words_in_pairs_too():
    data = load([{"q": "about 3.14", "a": "pi"}, {"q": "about 2", "a": "two"}], input="q",
                label="a", unit="wordpunct", numeric="words", between="", empty="keep")  # fmt: skip
    old = compile(data)
    old = replace(old, record=replace(old.record, loading={"input": ["q"], "label": "a"}))
    assert verify(old, [("about 3.14", "pi"), ("about 2", "two")]).holds


def test_a_contextual_mapping_of_objects():
    whole = compile(PAIRS)
    assert contextual_mapping(whole, PAIRS) == contextual_mapping(whole, load(PAIRS))
    wider = [{**record, "other": i} for i, record in enumerate(RECORDS)]
    with pytest.raises(ByheartError, match="read it as you want it with byheart.load"):
        contextual_mapping(compile(load(wider, **NAMED)), wider)


def test_the_checker_reads_the_arrays_that_were_named(tmp_path):
    """In the archive it would take others, so it is given a copy of what was read."""
    path = tmp_path / "d.npz"
    inputs, labels = np.array([[1, 2], [2, 2]]), np.array([0, 1])
    np.savez(path, inputs=inputs[::-1], labels=labels, a=inputs, b=labels)
    model = compile(load(path, input="a", label="b"))
    found = verify(model, path, input="a", label="b", checker=True)
    assert found.holds and found.copied
    np.savez(path, inputs=inputs, labels=labels)
    found = verify(model, path, input="inputs", label="labels", checker=True)
    assert found.holds and not found.copied  # all there is, as the checker reads it
