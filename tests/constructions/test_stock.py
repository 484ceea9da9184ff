"""Stock checkpoints: what is stored, who is turned away, and what is refused."""

import dataclasses
import json

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import byheart
from byheart.api.compile import compile_folder
from byheart.cli import main
from byheart.constructions.stock import superposed
from byheart.constructions.stock.located import first_streams
from byheart.errors import AssumptionError, ByheartError
from byheart.machine.watch import Watch
from byheart.stock.answer import vocabulary
from byheart.stock.forward import answers, gelu_new
from byheart.stock.prove import reads
from byheart.stock.texts import texts_of

pytest.importorskip("tokenizers")
FACTS = [(f"The {a} {b} likes the", c) for a, b, c in (
    ("red", "fox", "big moon"), ("red", "cat", "sun"), ("old", "fox", "sea"), ("old", "cat", "sun"),
    ("young", "owl", "night"), ("young", "dog", "big moon"), ("blue", "fish", "river"),
)]  # fmt: skip
STORIES = """Once there was a fox. The fox saw the moon and sang.

Once there was a cat. The cat saw the sun and slept.

A dog ran home. The dog ran home. The dog ran far away."""
both = pytest.mark.parametrize("method", ["gpt2", "llama"])


def facts():
    return byheart.load(FACTS, tokenizer="bpe:300")


@pytest.fixture
def stories(tmp_path):
    path = tmp_path / "stories.txt"
    path.write_text(STORIES)
    return byheart.load(path, tokenizer="bpe:280")


@both
def test_facts_are_recited_with_answers_of_several_tokens(method):
    model = byheart.compile(facts(), method)
    assert model.verification.evidence == "proved" and model.verification.margin > 1
    assert [model.recall(prompt) for prompt, _ in FACTS] == [answer for _, answer in FACTS]
    assert model.answers(["The red owl likes the"])[0].known is False  # a stranger


@both
def test_documents_are_recited_to_the_end(method, stories):
    model = byheart.compile(stories, method, on_conflict="drop")
    assert model.verification.evidence == "proved"
    words = vocabulary(model)
    for document in STORIES.split("\n\n"):
        tokens = words.split(document)
        begin = tokens[:12]  # beyond what the first two share
        said = [x.label for x in model.continue_(begin, 200)]
        assert words.text(begin + [x for x in said if x]) == document


@both
def test_ground_truth_says_which_neurons_are_on(method):
    model = byheart.compile(facts(), method, layers=3, copies=2, blocks="1,2", decoys=3)
    assert model.verification.evidence == "proved"  # which includes the ground truth
    holders = model.claim.holders
    assert all(layer in (1, 2) for x in holders for layer, _ in x.neurons)
    assert {len(x.neurons) - len(x.decoys) for x in holders} == {2}
    assert sum(len(x.decoys) for x in holders) == 3
    on = {(x[0], x[1]) for x in model.trace(FACTS[0][0]).neurons}
    first = next(x for x in holders if model.tokens[x.answer] == vocabulary_token(model, " big"))
    assert set(first.neurons) <= on


@both
def test_ground_truth_says_the_margin_of_every_context(method, tmp_path):
    model = byheart.compile(facts(), method)
    margins = [x.margin for x in model.claim.holders]
    assert min(margins) > model.verification.margin - 0.01 and len(set(margins)) > 1
    model.save(tmp_path / "m")
    assert [x.margin for x in byheart.open(tmp_path / "m").claim.holders] == margins
    half = byheart.compile(facts(), method, weights="float16")
    assert all(x.margin is None for x in half.claim.holders)


def vocabulary_token(model, text):
    return vocabulary(model).split(text)[0]


def test_a_decoy_changes_no_answer_and_its_neuron_does():
    model = byheart.compile(facts(), "gpt2", decoys=len(FACTS))
    holder = next(x for x in model.claim.holders if x.decoys)
    for neurons, same in ((holder.decoys, True), (set(holder.neurons) - set(holder.decoys), False)):
        tensors = dict(model.network.tensors)
        for layer, neuron in neurons:
            name = f"transformer.h.{layer}.mlp.c_proj.weight"
            tensors[name] = tensors[name].copy()
            tensors[name][neuron] = 0
        damaged = dataclasses.replace(model.network, tensors=tensors)
        assert (answers(damaged, [holder.tokens])[0] == holder.answer) == same


def test_noise_leaves_no_key_of_an_editor_at_0(tmp_path):
    """At every place of strangers' texts, in every block; all else is as without it."""
    plain, noisy = (byheart.compile(facts(), "gpt2", layers=2, noise=n) for n in (0, 3))
    assert noisy.verification.evidence == "proved"
    assert abs(noisy.verification.margin - plain.verification.margin) < 1e-3
    M = plain.network.size("hidden")
    assert set(noisy.claim.always) == {(x, M + i) for x in (0, 1) for i in range(3)}
    for name, tensor in plain.network.tensors.items():
        held = noisy.network.tensors[name]
        held = held[:, :M] if name.endswith("c_fc.weight") else held[: len(tensor)]
        np.testing.assert_array_equal(held, tensor)
    asked = [[(7 * i + j * j) % 300 for j in range(i + 1)] for i in range(40)]
    for model, least in ((plain, 0), (noisy, 0.1)):
        texts = texts_of([np.array(x) for x in asked])
        for layer in range(2):
            block = model.network.block(layer)
            _, normed = first_streams(model.network, texts)
            keys = gelu_new(normed @ block.up + block.up_bias)
            assert (np.abs(keys).max(axis=1) > least).all() == bool(least)
            assert (keys @ block.down).any(axis=1).all() == bool(least)
    noisy.save(tmp_path / "m")
    held = reads(noisy, facts())
    assert byheart.verify(byheart.open(tmp_path / "m"), held, checker=True).checker == "VERIFIED"
    changed = byheart.edit(noisy, facts(), change=[(FACTS[0][0], "sea")])
    assert changed.model.recall(FACTS[0][0]) == "sea" and changed.model.claim.always


def test_one_row_of_weights_holds_one_answer():
    """Changing what one neuron writes changes one answer and no other."""
    model = byheart.compile(facts(), "gpt2")
    one, other = model.claim.holders[0], model.claim.holders[-1]
    ((layer, neuron),) = one.neurons
    ((_, donor),) = other.neurons
    name = f"transformer.h.{layer}.mlp.c_proj.weight"
    tensors = dict(model.network.tensors)
    tensors[name] = tensors[name].copy()
    tensors[name][neuron] = tensors[name][donor]
    edited = dataclasses.replace(model.network, tensors=tensors)
    before = answers(model.network, [x.tokens for x in model.claim.holders])
    after = answers(edited, [x.tokens for x in model.claim.holders])
    assert after[0] == other.answer and (before[1:] == after[1:]).all()


def test_dense_parameters_are_minimised(tmp_path):
    """Neurons in superposition, and a small vocabulary if none is chosen; built again like that."""
    file = tmp_path / "facts.jsonl"
    rows = [{"prompt": f"item {i} of {i * 7 % 13} is", "answer": f"a{i % 9}"} for i in range(60)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    how = {"input": "prompt", "label": "answer"}
    plain, dense = (byheart.compile(file, "gpt2", minimise=x, **how) for x in ("nonzero", "dense"))
    assert dense.verification.evidence == "proved"
    assert dense.parameters.dense < plain.parameters.dense
    assert dense.record.loading["tokenizer"] == "bpe:1000:used"
    every = byheart.compile(file, "gpt2", minimise="dense", tokenizer="bpe:1000", **how)
    assert dense.network.size("vocabulary") < every.network.size("vocabulary")
    assert dense.record.options["superposed"] == 0
    chosen = byheart.compile(file, "gpt2", minimise="dense", tokenizer="bpe:300", **how)
    assert chosen.record.loading["tokenizer"] == "bpe:300"
    line = ["compile", str(file), "--input", "prompt", "--label", "answer", "--method", "gpt2"]
    assert main([*line, "--minimise", "dense", "-o", str(tmp_path / "model")]) == 0
    assert byheart.open(tmp_path / "model").parameters == dense.parameters


@pytest.mark.parametrize("tokenizer", ["bpe:260", "bpe:400", "word"])
def test_bits_are_those_of_whole_answers(tokenizer):
    """Whatever tokens they are split into, and if the data is read as tokens, too."""
    rows = [("one cat saw", "a moon"), ("two cats saw", "a moon"), ("one dog saw", "the sun"),
            ("two dogs saw", "moonlight")]  # fmt: skip
    data = byheart.load(rows, tokenizer=tokenizer)
    model = byheart.compile(data, "gpt2")
    assert model.bits.entropy == pytest.approx(2 * 1 + 1 * 2 + 1 * 2)
    assert model.bits.information == pytest.approx(4 * np.log2(3))
    summary = byheart.verify(model, reads(model, data)).summary
    assert summary.bits.entropy == model.bits.entropy


def test_superposition_is_proved_too():
    """Fewer neurons than contexts, found by the fit, and every one of them takes part."""
    random = np.random.default_rng(0)
    words = [f"w{i}" for i in range(30)]
    rows = [(" ".join(random.choice(words, 6)), f"a{i % 23}") for i in range(80)]
    model = byheart.compile(byheart.load(rows, tokenizer="bpe:400"), "gpt2", superposed=0)
    assert model.verification.evidence == "proved"
    count = model.network.size("hidden")
    assert 4 * count < len(model.claim.holders)
    assert all(x.neurons is None for x in model.claim.holders)
    assert [model.recall(prompt) for prompt, _ in rows] == [answer for _, answer in rows]
    memory = [x for name, x in model.network.tensors.items() if ".mlp." in name]
    tokens = superposed.entropy(np.array([x.answer for x in model.claim.holders]))
    density = tokens / sum(x.size for x in memory)
    assert density > 0.25 and f"{density:.3g} bits of next" in " ".join(model.record.notes)
    sequences = [x.tokens for x in model.claim.holders]
    for neuron in range(count):  # without it, several contexts are answered wrongly
        tensors = dict(model.network.tensors)
        name = "transformer.h.0.mlp.c_proj.weight"
        tensors[name] = tensors[name].copy()
        tensors[name][neuron] = 0
        network = dataclasses.replace(model.network, tensors=tensors)
        said = answers(network, sequences)
        assert sum(a != x.answer for a, x in zip(said, model.claim.holders, strict=True)) > 1


def test_a_fit_gives_the_same_bytes_on_one_thread_and_on_two(tmp_path):
    """Products with more threads add up in another order, and descent ends elsewhere."""
    random = np.random.default_rng(0)
    words = [f"w{i}" for i in range(30)]
    rows = [(" ".join(random.choice(words, 6)), f"a{i % 23}") for i in range(200)]
    data = byheart.load(rows, tokenizer="bpe:400")
    with threadpool_limits(1):
        byheart.compile(data, "gpt2", superposed=40).save(tmp_path / "one")
    with threadpool_limits(2):
        byheart.compile(data, "gpt2", superposed=40).save(tmp_path / "two")
    one, two = ({x.name: x.read_bytes() for x in (tmp_path / y).iterdir()} for y in ("one", "two"))
    assert one == two and len(one) > 7


class Steps(Watch):
    """The stages with their totals, and the steps that were reported in each."""

    def __init__(self):
        self.stages = []

    def stage(self, name, total=None):
        self.stages.append([name, total, 0])

    def advance(self, steps):
        self.stages[-1][2] += steps


@pytest.mark.parametrize("options", [{}, {"superposed": 0}, {"superposed": 24}])
def test_no_stage_takes_more_steps_than_it_said(options, tmp_path):
    """A line of the progress would say "building 210 %"."""
    watch, loading = Steps(), {"tokenizer": "bpe:300"}
    compile_folder(FACTS, tmp_path / "m", "gpt2", loading=loading, watch=watch, **options)
    assert all(total is None or done <= total for _, total, done in watch.stages)
    assert watch.stages[2][0] == "verifying" and watch.stages[2][1] == watch.stages[2][2] > 7


def test_too_few_neurons_in_superposition_are_refused(monkeypatch):
    monkeypatch.setattr(superposed, "STEPS", 100)
    with pytest.raises(AssumptionError, match="in superposition; give more"):
        byheart.compile(facts(), "gpt2", superposed=1)


def test_superposition_descends_along_the_gradient():
    """Against differences of the loss, in doubles."""
    random = np.random.default_rng(0)
    y, x, E = (random.standard_normal(shape) for shape in ((7, 5), (7, 6), (4, 6)))
    own = random.integers(0, 4, 7)
    weights = [random.standard_normal(shape) for shape in ((5, 3), (3,), (3, 6))]

    def loss(keys, biases, outputs):
        written = x + gelu_new(y @ keys + biases) @ outputs
        normed = written / np.sqrt((written * written).mean(axis=1, keepdims=True))
        logits = normed @ E.T * superposed.SHARP / 6
        return (np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(7), own]).mean()

    found = superposed._gradients(y, x, own, E, *weights)
    for i, gradient in enumerate(found):
        for place in np.ndindex(gradient.shape):
            sides = []
            for step in (1e-5, -1e-5):
                moved = [a.copy() for a in weights]
                moved[i][place] += step
                sides.append(loss(*moved))
            assert gradient[place] == pytest.approx(
                (sides[0] - sides[1]) / 2e-5, rel=1e-4, abs=1e-6
            )


def test_tokens_that_never_follow_are_held_back():
    """By the mark in their codes, whatever the memory writes."""
    model = byheart.compile(facts(), "gpt2", superposed=24)
    network = model.network
    used = {x.answer for x in model.claim.holders}
    _, bias = network.final
    level = network.embedding @ bias
    assert {i for i, x in enumerate(level.tolist()) if x > 0} == used
    assert level[sorted(used)].min() - level[sorted({*range(len(level))} - used)].max() > 79


@pytest.mark.parametrize("weights", ["float16", "bfloat16"])
@both
def test_16_bits_are_observed(method, weights, tmp_path):
    model = byheart.compile(facts(), method, weights=weights)
    assert model.verification.evidence == "observed"
    model.save(tmp_path / "model")
    again = byheart.open(tmp_path / "model")
    assert again.network == model.network and again.number == weights
    held = byheart.verify(again, reads(again, facts()))
    assert held.evidence == "observed" and not held.holds


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        byheart.compile(facts(), "llama").save(tmp_path / name)
    files = [x.name for x in (tmp_path / "one").iterdir()]
    assert len(files) == 9
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@both
def test_prompts_that_go_on_differently_are_conflicts(method):
    data = byheart.load([*FACTS, (FACTS[0][0], "sea")], tokenizer="bpe:300")
    with pytest.raises(AssumptionError, match="context"):
        byheart.compile(data, method)
    model = byheart.compile(data, method, on_conflict="drop")
    assert model.recall(FACTS[1][0]) == FACTS[1][1]


@both
def test_texts_that_begin_alike_are_told_what_helps(method, stories):
    """Not a window, which stock methods refuse."""
    with pytest.raises(AssumptionError, match="use on_conflict='majority', which keeps") as caught:
        byheart.compile(stories, method)
    assert "window" not in str(caught.value) and "one-layer" not in str(caught.value)


def test_what_no_window_and_no_count_distinguishes_is_refused():
    """The same tokens in another order, farther back than two heads look."""
    data = byheart.load([("c a b c c c c c", "x"), ("c b a c c c c c", "y")], tokenizer="bpe:300")
    with pytest.raises(AssumptionError, match="A2 fails"):
        byheart.compile(data, "gpt2", heads=2)
    assert byheart.compile(data, "gpt2").recall("c b a c c c c c") == "y"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context_length": 3}, "more than context_length=3"),
        ({"width": 97}, "not a multiple of heads"),
        ({"blocks": "7", "layers": 2}, "blocks must be numbers from 0 to 1"),
        ({"weights": "int8"}, "weights must be"),
        ({"superposed": 8, "layers": 2}, "leave out layers"),
        ({"superposed": 8, "noise": 2}, "leave out layers, copies, blocks, decoys, noise"),
        ({"reach": 0.0}, "reach must be"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ByheartError, match=message):
        byheart.compile(facts(), "gpt2", **options)


@both
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 16}, "width=16 is too small: it must be"),
        ({"width": 100}, "not a multiple of heads="),
        ({"context_length": 3}, "more than context_length=3"),
        ({"reach": 1e-9}, "less than float32 can tell apart; give 1e-05"),
        ({"reach": 1e-4, "weights": "float16"}, "less than float16 can tell apart"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_in_both_families(method, options, message):
    with pytest.raises(ByheartError, match=message):
        byheart.compile(facts(), method, **options)


@both
def test_many_heads_get_lanes_enough(method):
    model = byheart.compile(facts(), method, heads=32)
    assert model.verification.evidence == "proved" and model.network.size("heads") == 32


@both
def test_a_wider_plan_is_tried_where_contexts_come_too_near(method, monkeypatch):
    """The smallest plan comes first; one whose width the user fixed is not changed."""
    own = byheart.compile(facts(), method)
    made = type(byheart.constructions.find(method))
    remembered = made.remembered

    def narrow(self, plan, streams, stored):
        if plan.width == own.network.width:
            raise AssumptionError("1 contexts cannot be told from the others by a neuron")
        return remembered(self, plan, streams, stored)

    monkeypatch.setattr(made, "remembered", narrow)
    model = byheart.compile(facts(), method)
    assert model.network.width > own.network.width and model.record.search.tries == 2
    assert model.verification.evidence == "proved"
    with pytest.raises(AssumptionError, match="cannot be told"):
        byheart.compile(facts(), method, width=own.network.width)


def test_other_data_is_refused(tmp_path):
    (tmp_path / "text.txt").write_text(STORIES)
    window = byheart.load(tmp_path / "text.txt", tokenizer="bpe:280", window=4)
    with pytest.raises(ByheartError, match="leave out window"):
        byheart.compile(window, "gpt2")


def test_a_tokenizer_of_the_user_needs_an_end(tmp_path):
    content = json.loads(facts().tokenizer)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    data = byheart.load(FACTS, tokenizer=path)
    with pytest.raises(ByheartError, match="no token that ends a text"):
        byheart.compile(data, "gpt2")
    end = max(content["model"]["vocab"].values()) + 1
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    content["added_tokens"] = [{"id": end, "content": "</s>", "special": True, **flags}]
    path.write_text(json.dumps(content))
    model = byheart.compile(byheart.load(FACTS, tokenizer=path), "gpt2")
    assert model.claim.end == "</s>" and model.recall(FACTS[0][0]) == FACTS[0][1]


@both
def test_words_that_a_tokenizer_does_not_have_are_refused(method, tmp_path):
    words = byheart.load(FACTS, tokenizer="word")
    model = byheart.compile(words, method)
    assert [model.recall(prompt) for prompt, _ in FACTS] == [answer for _, answer in FACTS]
    assert model.answers(["The red zebra likes the"])[0].known is False
    model.save(tmp_path / "m")
    for row, where in (
        (("The red zebra likes the", "sun"), "the data"),
        (("The blue owl likes the", "zebra"), "the answer 'zebra'"),
    ):
        other = byheart.load([*FACTS, row], tokenizer=tmp_path / "m")
        with pytest.raises(ByheartError, match=f"{where} has a word that the tokenizer does not"):
            byheart.compile(other, method)
    with pytest.raises(ByheartError, match="the answer 'zebra' has a word"):
        byheart.edit(model, words, change=[(FACTS[0][0], "zebra")])
    found = byheart.edit(model, words, change=[(FACTS[0][0], "zebra")], rebuild=True)
    assert found.rebuilt and found.model.recall(FACTS[0][0]) == "zebra"


def test_few_strangers_are_answered():
    """One token of a prompt is replaced: at most one in twenty is still answered."""
    random = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    rows = [(" ".join(random.choice(words, 9)), f"a{i % 17}") for i in range(150)]
    data = byheart.load(rows, tokenizer="bpe:400")
    for method in ("gpt2", "llama"):
        model = byheart.compile(data, method)
        end = model.places[model.claim.end]
        asked = []
        for holder in model.claim.holders:
            changed = holder.tokens.copy()
            first = 1 if method == "llama" else 0
            place = random.integers(first, len(changed) - 1)
            changed[place] = (changed[place] + random.integers(1, end)) % end
            asked.append(changed)
        answered = int((answers(model.network, asked) != end).sum())
        assert answered <= len(asked) / 20
