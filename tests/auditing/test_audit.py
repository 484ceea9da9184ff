"""audit: code lengths of a plain loop, known answers, and nothing found where nothing is."""

import json
import math
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import byheart
from byheart.auditing import scoring
from byheart.auditing.audit import audit, drawn
from byheart.auditing.checkpoint import judged_here, judged_there, opened
from byheart.auditing.items import items_of
from byheart.errors import ByheartError
from byheart.machine.watch import Watch

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
FAMILIES = ("gpt2", "gpt_neox", "llama")
MORE = ("mistral", "qwen2", "qwen3")
BIN = {"separator": 65_535}


def plain(folder, row):
    """The bits of a row after its first token, by transformers alone, and greedy continuations."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(torch.tensor([row[:-1]])).logits[0].double()
    chances = logits.log_softmax(-1)[range(len(row) - 1), row[1:]]
    return -float(chances.sum()) / math.log(2), model


@pytest.mark.parametrize("family", [*FAMILIES, *MORE])
def test_code_lengths_are_those_of_a_plain_loop(family, checkpoint, ids, random_rows):
    """Items of different lengths share batches; every family ties and stores in its own way."""
    folder = checkpoint(family, scale=4.0)
    rows = [row[: 4 + i] for i, row in enumerate(random_rows(8))]
    found = audit(folder, ids(rows), prefix=2, suffix=3, loading=BIN)
    for row, item in zip(rows, found.items, strict=True):
        bits, model = plain(folder, row)
        assert item.bits == pytest.approx(bits, abs=1e-5)
        assert item.reference_bits == pytest.approx(5 * (len(row) - 1))
    assert found.code_length == pytest.approx(sum(x.bits for x in found.items))
    assert found.model.parameters == sum(x.numel() for x in model.parameters())
    assert found.model.stored_bits == 32 * found.model.parameters
    assert found.model.kind == family


LOGIT = st.sampled_from([-math.inf, -90.0, -2.0, 0.0, 1.0, 1.0 + 2**-20, 60.0])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 3), st.integers(1, 19), st.data())
def test_the_processors_own_kernel_judges_as_pytorch_does(rows, width, data):
    """Equal logits, those far below the others, and tokens that a model never gives."""
    numbers = data.draw(st.lists(LOGIT, min_size=rows * width, max_size=rows * width))
    logits = torch.tensor(numbers).view(rows, width)
    places = st.lists(st.integers(0, width - 1), min_size=rows, max_size=rows)
    following = torch.tensor(data.draw(places))
    (nats, hits, places), (others, likeliest, also) = (
        judge(logits, following) for judge in (judged_here, judged_there)
    )
    np.testing.assert_allclose(nats, others, rtol=1e-6, atol=1e-6)
    logs = logits.double().log_softmax(-1)  # the published formula, where it can be computed
    spread = (logs.exp() * logs**2).sum(-1) - (logs.exp() * logs).sum(-1) ** 2
    if bool(logs.isfinite().all()) and bool((spread > 1e-4).all()):
        own = logs.gather(1, following[:, None])[:, 0]
        wanted = (own - (logs.exp() * logs).sum(-1)) / spread.sqrt()
        for found in (places, also):
            np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-3, atol=1e-3)
    assert hits.tolist() == likeliest.tolist()


@pytest.mark.parametrize("number", [math.nan, -math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 8, 17])
def test_logits_that_are_no_numbers_are_never_judged_as_numbers(number, place):
    logits = torch.zeros(2, 18)
    logits[1, place] = number
    for judge in (judged_here, judged_there):
        nats, _, _ = judge(logits, torch.tensor([place, place]))
        assert not np.isfinite(nats[1])


def test_many_logits_lose_no_digits():
    logits = torch.randn(3, 50_257, generator=torch.Generator().manual_seed(0))
    following = torch.tensor([0, 50_256, 7])
    exact = -logits.double().log_softmax(-1)[range(3), following].numpy()
    np.testing.assert_allclose(judged_here(logits, following)[0], exact, atol=3e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_recitation_is_that_of_greedy_generation(family, checkpoint, ids, random_rows):
    """Without generating: a continuation goes on as far as every true token is the likeliest."""
    folder = checkpoint(family, scale=4.0)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    rows = random_rows(6)
    start = torch.tensor([row[:3] for row in rows])
    with torch.no_grad():
        for _ in range(9):
            best = model(start).logits[:, -1].argmax(-1, keepdim=True)
            start = torch.cat([start, best], 1)
    recited = [start[0].tolist(), start[1].tolist()[:7] + rows[1][7:], *rows[2:]]
    found = audit(folder, ids(recited), prefix=3, suffix=20, loading=BIN)
    for row, told, item in zip(recited, start.tolist(), found.items, strict=True):
        same = [a == b for a, b in zip(row[3:], told[3:], strict=True)]
        assert item.common == ([*same, False]).index(False)
        assert item.asked == 9 and item.verbatim == all(same)
    assert found.items[0].verbatim and found.extraction.verbatim >= 1


def test_shards_and_short_number_types(checkpoint, ids, random_rows):
    rows = random_rows(4)
    whole = audit(checkpoint("llama", scale=2.0), ids(rows), loading=BIN)
    sharded = checkpoint("llama", scale=2.0, max_shard_size="8KB")
    assert len(list(sharded.glob("*.safetensors"))) > 1
    parts = audit(sharded, ids(rows), loading=BIN)
    assert parts.code_length == whole.code_length
    half = audit(checkpoint("llama", scale=2.0, dtype="bfloat16"), ids(rows), loading=BIN)
    trained = [x.name for x in half.limits if "Morris" in x.name]
    assert trained == ["Morris et al. (2025), 3.51 per parameter"]
    assert half.model.stored_bits == 16 * half.model.parameters
    assert half.code_length == pytest.approx(whole.code_length, rel=0.05)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_that_has_not_seen_the_data_memorises_nothing(family, checkpoint, ids, random_rows):
    """Ten datasets: two standard errors and an interval of 95 % hold for most of them.

    Weights are small: any other distribution spends more bits than the uniform one, by its KL.
    """
    folder, near, covered = checkpoint(family, scale=0.25), 0, 0
    for seed in range(10):
        rows, others = random_rows(100, seed=2 * seed), random_rows(100, seed=2 * seed + 1)
        non_members = ids(others, "others.bin")
        found = audit(folder, ids(rows), non_members=non_members, prefix=4, loading=BIN)
        memorised, told = found.memorised, found.membership
        none = memorised.beyond.low <= 0 <= memorised.beyond.high
        (loss, *_) = told.scores
        inside = loss.low <= 0.5 <= loss.high
        near, covered = near + none, covered + inside
        assert memorised.clamped > 0 >= memorised.bits - memorised.clamped
        assert found.extraction.verbatim == 0
        some = memorised.beyond.low > 0
        assert ("No memorisation beyond non-members is measured" in found.verdict) != some
        assert ("cannot be told" in found.verdict) == (told.strongest.low <= 0.5)
    assert near >= 8 and covered >= 8


def test_canaries_rank_first(checkpoint, ids, random_rows, tmp_path):
    """A model trained on eight random items: they are recited, and most exposed."""
    rows, others = random_rows(8), random_rows(64, seed=5)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint("gpt2"))
    model.train()
    optimiser, data = torch.optim.Adam(model.parameters(), 0.01), torch.tensor(rows)
    for _ in range(150):
        optimiser.zero_grad()
        logits = model(data[:, :-1]).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), data[:, 1:].flatten()).backward()
        optimiser.step()
    model.save_pretrained(tmp_path / "trained")
    mixed = [*others[:20], *rows]
    non_members = ids(others[20:], "others.bin")
    found = audit(tmp_path / "trained", ids(mixed), prefix=3, non_members=non_members, loading=BIN)
    ranked = sorted(found.items, key=lambda item: -item.memorised)
    assert {item.item for item in ranked[:8]} == set(range(21, 29))
    assert all(item.exposure == math.log2(45) for item in ranked[:8])
    assert all(item.verbatim for item in ranked[:8])
    alone = audit(tmp_path / "trained", ids(rows), prefix=3, non_members=non_members, loading=BIN)
    best = alone.membership.strongest
    assert best.auc == 1 and 0.78 < best.low < 1
    assert alone.memorised.bits > 0.9 * 8 * 11 * 5
    saved = alone.membership.saved
    assert saved.items == pytest.approx(alone.memorised.bits / 88)
    assert saved.non_members < 0 < 0.9 * 5 < saved.items
    assert "recites 8 of 8 items verbatim after 3 tokens" in alone.verdict
    # what a copy of the model knows already is not memorised by it
    copy = audit(tmp_path / "trained", ids(rows), reference=tmp_path / "trained", loading=BIN)
    assert copy.memorised.bits == 0
    fresh = audit(tmp_path / "trained", ids(rows), reference=checkpoint("gpt2"), loading=BIN)
    assert fresh.memorised.bits == pytest.approx(alone.memorised.bits, rel=0.05)


def test_the_unigram_reference_knows_frequencies(checkpoint, ids):
    """Eight tokens 5 are predicted, and two tokens 6: counts 8.5 and 2.5 of 10 + 32 / 2."""
    rows = [[1, 5, 5, 5, 5, 6]] * 2
    found = audit(checkpoint("gpt2"), ids(rows), reference="unigram", loading=BIN)
    wanted = 8 * math.log2(26 / 8.5) + 2 * math.log2(26 / 2.5)
    assert found.reference.bits == pytest.approx(wanted)


def test_text_goes_through_the_model_s_tokenizer(tokenized, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("w1 w2 w3 w4\nw5 w6\nw7\n")
    found = audit(tokenized, path, prefix=1)
    assert (found.data.items, found.data.tokens, found.data.skipped) == (2, 6, 1)
    same = audit(tokenized, ["w1 w2 w3 w4", "w5 w6"], prefix=1)
    assert same.code_length == found.code_length
    assert "knows no language" in found.notes[0]  # uniform does not separate them
    separated = audit(tokenized, path, reference=tokenized)
    assert not separated.notes
    table = tmp_path / "rows.jsonl"
    table.write_text('{"input": ["w1", "w2"], "label": "w3"}\n{"input": ["w4"], "label": "w5"}\n')
    rows = audit(tokenized, table)
    assert rows.data.predicted == 2 and rows.extraction.asked == 2
    label = plain(tokenized, [1, 2, 3])[0] - plain(tokenized, [1, 2])[0]
    assert rows.items[0].bits == pytest.approx(label, abs=1e-5)


def test_a_token_that_the_tokenizer_puts_first_is_read_and_not_counted(tokenized, tmp_path):
    """As Llama's tokenizers do: the numbers are of the same tokens, after that one."""
    from tokenizers import Tokenizer, processors

    folder = shutil.copytree(tokenized, tmp_path / "model")
    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    made.post_processor = processors.TemplateProcessing(
        single="w31 $A w30", special_tokens=[("w31", 31), ("w30", 30)]
    )
    made.save(str(folder / "tokenizer.json"))
    texts = ["w1 w2 w3 w4", "w5 w6"]
    found = audit(folder, texts, prefix=2, non_members="random")
    assert (found.data.tokens, found.data.predicted) == (6, 4)
    assert [x.tokens for x in found.items] == [4, 2]
    assert [x.asked for x in found.items] == [2, 0]
    wanted = plain(folder, [31, 1, 2, 3, 4])[0] - plain(folder, [31, 1])[0]
    assert found.items[0].bits == pytest.approx(wanted, abs=1e-5)
    assert opened(tokenized).opening == []
    (items,) = items_of(opened(folder), texts, {}).items
    (non_members,) = drawn(items, 0).items
    assert non_members.ids[non_members.starts[:-1]].tolist() == [31, 31]
    assert 31 not in non_members.ids[[1, 2, 3, 4, 6, 7]]


def test_an_audit_resumes_where_it_was_interrupted(
    checkpoint, ids, random_rows, tmp_path, monkeypatch
):
    rows = [row[: 5 + i] for i, row in enumerate(random_rows(7))]
    folder, data = checkpoint("gpt2"), ids(rows)
    whole = audit(folder, data, loading=BIN)
    scored, count = scoring._scored, []

    def failing(*given):
        if len(count) == 3:
            raise KeyboardInterrupt
        count.append(1)
        return scored(*given)

    monkeypatch.setattr(scoring, "LOOSE", 1.0)  # a batch for each length
    monkeypatch.setattr(scoring, "_scored", failing)
    with pytest.raises(KeyboardInterrupt):
        audit(folder, data, folder=tmp_path / "kept", loading=BIN)
    assert len((tmp_path / "kept" / "rows.jsonl").read_text().splitlines()) == 3
    count.clear()
    calls = []
    monkeypatch.setattr(scoring, "_scored", lambda *x: calls.append(1) or scored(*x))
    resumed = audit(folder, data, folder=tmp_path / "kept", loading=BIN)
    assert len(calls) == 4
    assert [x.bits for x in resumed.items] == pytest.approx([x.bits for x in whole.items])
    with pytest.raises(ByheartError, match="is of another measurement"):
        audit(folder, data, prefix=3, folder=tmp_path / "kept", loading=BIN)


def test_batches_hold_every_item_once_and_keep_to_their_size(checkpoint, ids, random_rows):
    rows = [row[: 2 + i % 11] for i, row in enumerate(random_rows(40))]
    one = opened(checkpoint("gpt2"))
    (items,) = items_of(one, ids(rows), BIN).items
    parts = scoring.batches(items, 30)
    assert sorted(i for part in parts for i in part) == list(range(40))
    for part in parts:
        longest, shortest = items.lengths[part].max(), items.lengths[part].min()
        assert longest * len(part) <= 30 and longest <= scoring.LOOSE * shortest
    said, watch = [], Watch()
    watch.say = said.append
    tokens = scoring.check_memory(one, [items, items], watch)
    assert tokens == math.ceil(1.05 * len(items.ids))  # no more than there are
    needed = one.memory(tokens) / 1e6
    (sentence,) = said
    assert sentence.endswith(f"up to {tokens:,} tokens takes at most {needed:,.1f} MB more")
    assert f"{one.stored_bits / 8e6:,.1f} MB of weights" in sentence


def test_tables_of_items(checkpoint, ids, random_rows, tmp_path):
    found = audit(checkpoint("gpt2"), ids(random_rows(3)), prefix=4, loading=BIN)
    found = found.save_items(tmp_path / "items.jsonl")
    lines = [json.loads(x) for x in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert lines == [x.row_of_table() for x in found.items]
    assert found.json()["items"] == str(tmp_path / "items.jsonl")
    found.save_items(tmp_path / "items.csv")
    header, *table = (tmp_path / "items.csv").read_text().splitlines()
    assert header.split(",") == list(found.items[0].row_of_table()) and len(table) == 3
    with pytest.raises(ByheartError, match="must end in .jsonl or .csv"):
        found.save_items(tmp_path / "items.txt")


# --- a byheart folder: the answers are known


def test_of_a_compiled_model_every_item_is_verbatim_and_all_information_is_memorised(tmp_path):
    rows = [([i, j], (i * j) % 4) for i in range(8) for j in range(8)]
    data = byheart.Dataset.from_rows(rows)
    byheart.compile(data, positions=True).save(tmp_path / "model")
    found = byheart.audit(tmp_path / "model", data)
    assert found.memorised.bits == found.data.information == 64 * 2
    assert found.extraction.verbatim == found.extraction.asked == 64
    assert found.code_length == 0 and found.accuracy == 1
    assert found.model.stored_bits == byheart.open(tmp_path / "model").bits.encoded


def test_a_compiled_model_with_a_label_per_token(tmp_path):
    from byheart.data.generate import tokens

    data = tokens(20, length=3, seed=2)
    byheart.compile(data).save(tmp_path / "model")
    found = byheart.audit(tmp_path / "model", data, reference="unigram")
    assert found.data.items == found.extraction.verbatim == 20
    assert found.data.predicted == 60 and found.code_length == 0
    assert {item.common for item in found.items} == {3}
    counts = np.bincount(data.labels) + 0.5
    wanted = -np.log2(counts / counts.sum())[data.labels].sum()
    assert found.memorised.bits == pytest.approx(wanted)
    with pytest.raises(ByheartError, match="gives every token a label"):
        byheart.audit(tmp_path / "model", byheart.Dataset.from_rows([([[0, 0]], 1)]))


def test_wrong_labels_of_a_compiled_model_cost_bits(tmp_path):
    """Of four labels one is wrong: 3 log2(4/3) + log2(4) for where, and 1 for which."""
    rows = [([i, 1], i % 2) for i in range(4)]
    byheart.compile(byheart.Dataset.from_rows(rows)).save(tmp_path / "model")
    changed = byheart.Dataset.from_rows([*rows[:3], ([3, 1], 0)])
    found = byheart.audit(tmp_path / "model", changed)
    assert found.code_length == pytest.approx(3 * math.log2(4 / 3) + 2 + 1)
    assert found.extraction.verbatim == 3


def test_a_compiled_text_and_its_distributions(tmp_path):
    """one-layer stores distributions: what is memorised is the information minus the entropy."""
    path = tmp_path / "text.txt"
    path.write_text("a b c a\nb c a b\n")
    data = byheart.load(path)
    byheart.compile(data, method="one-layer").save(tmp_path / "model")
    found = byheart.audit(tmp_path / "model", path)
    entropy = byheart.stats(data).entropy.total / math.log(2)
    assert found.code_length == pytest.approx(entropy, abs=0.1)
    assert found.data.predicted == 6


@pytest.mark.parametrize("method", ["gpt2", "llama"])
def test_a_stock_checkpoint_that_byheart_compiled_recites_everything(method, tmp_path):
    """It is audited as any checkpoint is, by its logits, and these have a margin."""
    pytest.importorskip("tokenizers")
    towns = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Peru": "Lima"}
    path = tmp_path / "facts.jsonl"
    rows = [{"prompt": f"The capital of {x} is", "answer": y} for x, y in towns.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = {"input": ["prompt"], "label": "answer"}
    facts = byheart.load(path, **columns, tokenizer="bpe:300")
    byheart.compile(facts, method).save(tmp_path / "model")
    found = audit(tmp_path / "model", path, loading=columns)
    assert found.model.kind == method and not found.model.compiled
    assert found.extraction.verbatim == found.extraction.asked == 4
    assert found.accuracy == 1 and found.code_length < 1e-3 * found.data.information
    assert found.memorised.bits == pytest.approx(found.data.information, rel=1e-3)


def test_the_random_strangers_are_not_the_data(checkpoint, tmp_path):
    """`generate uniform` has the same seed: equal random numbers would make the AUC 1/2."""
    from byheart.data.generate import uniform

    data = uniform(16, 8, 32, seed=0)
    (items,) = items_of(opened(checkpoint("gpt2")), data, {}).items
    assert len(items) == 16 and (items.lengths == 9).all()
    (non_members,) = drawn(items, 0).items
    assert (non_members.lengths == items.lengths).all()
    rows = {tuple(x) for x in np.split(items.ids, items.starts[1:-1])}
    assert not rows & {tuple(x) for x in np.split(non_members.ids, non_members.starts[1:-1])}
