"""The scores of one pass against their published definitions, and what sampling really extracts."""

import math
import zlib

import numpy as np
import pytest

from byheart.auditing.audit import audit
from byheart.auditing.generating import distance
from byheart.auditing.membership import Ranked, beyond, binomial, judged, rate

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
BIN = {"separator": 65_535}


def published(folder, row, given=1):
    """The log-probabilities of a row, and min-k %++'s of them, as the papers' own programs do."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(torch.tensor([row])).logits[0, :-1].double()
    logs = logits.log_softmax(-1)
    own = logs.gather(1, torch.tensor(row[1:])[:, None])[:, 0]
    mean = (logs.exp() * logs).sum(-1)
    spread = (logs.exp() * logs.square()).sum(-1) - mean.square()
    return own.numpy()[given - 1 :], ((own - mean) / spread.sqrt()).numpy()[given - 1 :]


def lowest(values):
    return np.sort(values)[: max(1, int(0.2 * len(values)))].mean()


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_min_k_and_the_suffix_s_probability(family, checkpoint, ids, random_rows):
    folder = checkpoint(family, scale=4.0)
    rows = [row[: 3 + i] for i, row in enumerate(random_rows(9))]
    found = audit(folder, ids(rows), prefix=4, suffix=3, loading=BIN)
    for row, item in zip(rows, found.items, strict=True):
        own, places = published(folder, row)
        assert item.min_k == pytest.approx(lowest(own), abs=1e-5)
        assert item.min_k_plus == pytest.approx(lowest(places), abs=1e-4)
        asked = own[3:6]
        assert item.asked == len(asked)
        chance = math.exp(asked.sum())
        if not len(asked):
            assert item.probability is item.samples is None
            continue
        assert item.probability == pytest.approx(chance, rel=1e-4)
        least = math.log(0.5) / math.log1p(-chance)
        assert item.samples == pytest.approx(max(1, math.ceil(least)), rel=1e-4)
    for point in found.extraction.curve:
        assert point.items == sum(x.samples is not None and x.samples <= point.samples
                                  for x in found.items)  # fmt: skip


def test_zlib_is_the_code_length_over_the_bytes_of_the_packed_text(tokenized):
    texts = ["w1 w2 w3 w4 w5", "w1 w1 w1 w1 w1 w1 w1 w1"]
    found = audit(tokenized, texts, non_members=["w9 w8 w7"])
    for text, item in zip(texts, found.items, strict=True):
        assert item.zlib == pytest.approx(-item.bits / len(zlib.compress(text.encode())))
    assert [x.name for x in found.membership.scores] == ["loss", "zlib", "min-20 %", "min-20 % ++"]


def test_the_probability_of_extraction_is_that_of_sampling(checkpoint, ids):
    """600 samples of one item: within three standard errors."""
    folder = checkpoint("gpt2", scale=4.0)
    row, size = [3, 7, 11, 2], 600
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():  # the likeliest continuation, so that it is often sampled
        start, how = torch.tensor([row[:2]]), {"do_sample": False, "pad_token_id": 0}
        row = model.generate(start, max_new_tokens=2, **how)[0].tolist()
        torch.manual_seed(0)
        drawn = torch.tensor([row[:2]] * size)
        for _ in range(2):
            chances = model(drawn).logits[:, -1].softmax(-1)
            drawn = torch.cat([drawn, torch.multinomial(chances, 1)], 1)
    share = float((drawn == torch.tensor(row)).all(1).float().mean())
    (item,) = audit(folder, ids([row]), prefix=2, suffix=2, loading=BIN).items
    error = math.sqrt(item.probability * (1 - item.probability) / size)
    assert 0.02 < item.probability < 0.98 and abs(share - item.probability) < 3 * error
    assert item.verbatim


def test_near_verbatim_counts_edits_of_what_is_generated(checkpoint, ids, random_rows):
    folder = checkpoint("llama", scale=4.0)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    rows = random_rows(6)
    with torch.no_grad():
        told = model.generate(torch.tensor([row[:4] for row in rows]), max_new_tokens=8,
                              do_sample=False, pad_token_id=0, eos_token_id=None)  # fmt: skip
    rows[0] = told[0].tolist()
    rows[1] = [*told[1].tolist()[:9], (rows[1][9] + 1) % 32, *told[1].tolist()[10:]]
    found = audit(folder, ids(rows), prefix=4, suffix=50, near=1, loading=BIN)
    for row, other, item in zip(rows, told.tolist(), found.items, strict=True):
        assert item.edits == distance(other[4:], row[4:])
    assert [x.edits for x in found.items[:2]] == [0, 1]
    assert found.extraction.within == sum(x.edits <= 1 for x in found.items)


def test_a_model_that_has_not_seen_the_items_is_not_found_to_have(checkpoint, ids, random_rows):
    """Twenty pairs of files: at most a tenth of the intervals miss 1/2; nor does the strongest."""
    folder, missed, chosen = checkpoint("gpt2", scale=2.0), 0, 0
    for seed in range(20):
        files = [ids(random_rows(60, seed=2 * seed + i), f"{i}.bin") for i in (0, 1)]
        found = audit(folder, files[0], non_members=files[1], loading=BIN).membership
        missed += sum(not x.low <= 0.5 <= x.high for x in found.scores)
        chosen += found.strongest.low > 0.5
    assert len(found.scores) == 3 and missed <= 6 and chosen <= 2


def test_several_references_are_their_mixture(checkpoint, ids, random_rows):
    rows, others = random_rows(5), ids(random_rows(7, seed=3), "others.bin")
    first, second = checkpoint("gpt2", seed=1, scale=3.0), checkpoint("gpt2", seed=2, scale=3.0)
    data = ids(rows)
    known = [audit(checkpoint("gpt2"), data, reference=x, loading=BIN) for x in (first, second)]
    both = audit(checkpoint("gpt2"), data, reference=[first, second], non_members=others,
                 loading=BIN)  # fmt: skip
    for one, two, item in zip(known[0].items, known[1].items, both.items, strict=True):
        mixture = -math.log2((2**-one.reference_bits + 2**-two.reference_bits) / 2)
        assert item.reference_bits == pytest.approx(mixture)
    names = [x.name for x in both.membership.scores]
    assert names[1:3] == ["loss - reference", "loss - mean of references"]
    assert any("take tens to hundreds" in note for note in both.notes)


def test_rates_at_few_false_alarms():
    """By hand: 3 of 4 items are above the second of 200 non-members, which is 1 %."""
    others = np.arange(200.0)
    found = rate(np.array([198.0, 198.5, 300, 0]), others, 0.01)
    assert found.true == 0.75 and (others > 197).mean() == 0.01
    assert (found.low, found.high) == pytest.approx(binomial(3, 4))
    assert rate(others, others[:99], 0.01).true is None
    assert rate(others, others, 0.001) == rate(others, others[:5], 0.001)


def test_the_interval_of_clopper_and_pearson():
    """Its ends are the shares for which what was found is the 2.5 % tail."""
    low, high = binomial(7, 20)
    tail = [sum(math.comb(20, k) * p**k * (1 - p) ** (20 - k) for k in some)
            for p, some in ((low, range(7, 21)), (high, range(8)))]  # fmt: skip
    assert tail == pytest.approx([0.025, 0.025])
    assert binomial(20, 20)[1] == 1 and binomial(0, 20)[0] == 0


def test_the_strongest_score_is_corrected_for_being_chosen():
    random = np.random.default_rng(1)
    several = [Ranked(str(i), random.random(30), random.random(40)) for i in range(5)]
    scores, best = judged(several)
    same = next(x for x in scores if x.name == best.name)
    assert best.auc == same.auc == max(x.auc for x in scores)
    assert best.low < same.low and best.high > same.high
    assert judged(several[:1])[1] == judged(several[:1])[0][0]


def test_bits_beyond_non_members_cover_the_truth():
    """Items save 3 bits a token, 2 of them language: 19 of 20 intervals hold 1 bit a token."""
    random, inside = np.random.default_rng(0), 0
    for _ in range(300):
        tokens = {"items": random.integers(5, 30, 40), "non_members": random.integers(5, 30, 60)}
        rates = {"items": 3, "non_members": 2}
        saved = {x: rates[x] * n + random.normal(0, np.sqrt(n)) for x, n in tokens.items()}
        bits, error = beyond(saved, tokens)
        inside += abs(bits - tokens["items"].sum()) <= 1.96 * error
    assert 0.91 <= inside / 300 <= 0.98
