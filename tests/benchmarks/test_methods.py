"""Published methods: what each must do on a case worked by hand, and what all of them keep to."""

import zlib
from importlib import import_module

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("tokenizers")

from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402
from transformers import (  # noqa: E402
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from benchmarks.methods import (  # noqa: E402
    activation_patching,
    common,
    contribution,
    descent,
    editing,
    finetuning,
    gradient_activation,
    gradient_cosine,
    greedy,
    influence,
    knowledge_neurons,
    loss_attack,
    min_k,
    npo,
    sampling,
    task_vectors,
    tracin,
    trak,
    zlib_ratio,
)

rome, memit = (import_module(f"benchmarks.methods.{x}") for x in ("rome", "memit"))
WORDS = (
    "<end> the capital river of in peru chile cuba mali oman togo is lima rome nile oslo".split()
)
FACTS = [
    {"prompt": f"the {what} of {where} is", "answer": answer}
    for what, where, answer in (
        ("capital", "peru", "lima"), ("river", "peru", "nile"), ("capital", "chile", "rome"),
        ("river", "chile", "oslo"), ("capital", "cuba", "oslo rome"), ("river", "cuba", "lima"),
        ("capital", "mali", "nile"), ("river", "mali", "rome"),
    )
]  # fmt: skip
PROMPT = FACTS[0]["prompt"]
METHODS = {
    "locate": ("activation_patching:locate", "activation_patching:locate_zero",
               "gradient_activation:locate", "knowledge_neurons:locate", "contribution:locate"),
    "edit": ("finetuning:edit", "finetuning:edit_matrix", "rome:edit", "rome_each:edit",
             "memit:edit"),
    "unlearn": ("gradient_ascent:unlearn", "gradient_ascent:unlearn_difference", "npo:unlearn",
                "task_vectors:unlearn", "erasing:unlearn"),
    "extract": ("greedy:extract", "sampling:extract"),
    "membership": ("loss_attack:membership", "min_k:membership", "zlib_ratio:membership"),
    "attribute": ("tracin:attribute", "gradient_cosine:attribute", "trak:attribute",
                  "trak:attribute_unweighted", "influence:attribute"),
}  # fmt: skip
GIVEN = {
    "locate": (PROMPT,),
    "edit": ({"prompt": PROMPT, "answer": "oslo", "old": "lima"},),
    "unlearn": (FACTS[:2], FACTS[2:]),
    "extract": (PROMPT,),
    "membership": ("the river of peru is nile",),
    "attribute": (FACTS[0], FACTS),
}
SIZES = {"vocab_size": len(WORDS), "bos_token_id": 0, "eos_token_id": 0}


@pytest.fixture(scope="module")
def tokenizer():
    words = Tokenizer(models.WordLevel({x: i for i, x in enumerate(WORDS)}, unk_token="<end>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>", bos_token="<end>")


def trained(model, tokenizer):
    """The model, after it has learned the facts."""
    every = common.batch(tokenizer, FACTS)
    ends = torch.tensor([tokenizer(f"{x['prompt']} {x['answer']} <end>").input_ids[:8]
                         for x in FACTS if " " not in x["answer"]])  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(150):
        optimiser.zero_grad()
        (common.loss(model, every).mean() + model(ends, labels=ends).loss).backward()
        optimiser.step()
    assert every.answered(model).all()
    optimiser.zero_grad()
    return model.requires_grad_(False).eval()


@pytest.fixture(scope="module")
def gpt2(tokenizer):
    torch.manual_seed(0)
    shape = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 16}
    dropped = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return trained(GPT2LMHeadModel(GPT2Config(**SIZES, **shape, **dropped)), tokenizer)


@pytest.fixture(scope="module")
def llama(tokenizer):
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "max_position_embeddings": 16}
    return trained(LlamaForCausalLM(LlamaConfig(**SIZES, **shape, **heads)), tokenizer)


@pytest.fixture(params=("gpt2", "llama"))
def model(request):
    return request.getfixturevalue(request.param)


def plain(result):
    """A result as numbers or text that can be compared."""
    if hasattr(result, "state_dict"):
        return [x.tolist() for x in result.state_dict().values()]
    return result.tolist() if hasattr(result, "tolist") else result


@pytest.mark.parametrize(
    ("task", "name"), [(task, name) for task, names in METHODS.items() for name in names]
)
def test_a_method_repeats_itself_and_leaves_the_model_alone(task, name, model, tokenizer):
    file, function = name.split(":")
    method = getattr(import_module(f"benchmarks.methods.{file}"), function)
    before = {x: y.clone() for x, y in model.state_dict().items()}
    torch.manual_seed(3)
    first = plain(method(model, tokenizer, *GIVEN[task]))
    torch.manual_seed(3)
    assert plain(method(model, tokenizer, *GIVEN[task])) == first
    assert all(torch.equal(y, before[x]) for x, y in model.state_dict().items())
    assert not any(x.requires_grad or x.grad is not None for x in model.parameters())
    assert not any(x._forward_pre_hooks or x._forward_hooks for x in model.modules())
    if task == "locate":
        assert np.shape(first) == (2, 64 if model.config.model_type == "gpt2" else 32)
        assert np.isfinite(first).all()
    if task == "attribute":
        assert len(first) == len(FACTS) and np.isfinite(first).all()


def test_facts_as_tokens(tokenizer):
    some = common.batch(tokenizer, [FACTS[4], FACTS[0]])
    assert some.rows[0].tolist() == tokenizer("the capital of cuba is oslo").input_ids
    assert some.rows[1].tolist() == [*tokenizer(PROMPT).input_ids, 0]
    assert some.labels[0].tolist() == [-100] * 4 + tokenizer("oslo rome").input_ids
    assert some.labels[1].tolist() == [-100] * 4 + [WORDS.index("lima"), -100]


class TestTwoNeurons:
    """One block without attention, two neurons whose values a bias sets: derivatives by hand."""

    @pytest.fixture
    def one(self):
        torch.manual_seed(1)
        shape = {"n_embd": 8, "n_layer": 1, "n_head": 1, "n_positions": 16, "n_inner": 2}
        model = GPT2LMHeadModel(GPT2Config(**SIZES, **shape)).eval().requires_grad_(False)
        block = model.transformer.h[0]
        for x in (block.attn.c_proj, block.mlp.c_proj, block.mlp.c_fc):
            x.weight.zero_()
            x.bias.zero_()
        model.transformer.wte.weight.normal_()
        block.mlp.c_fc.bias += torch.tensor([20.0, 10.0])  # so that gelu is the identity
        block.mlp.c_proj.weight.normal_(0, 0.1)
        return model

    @pytest.fixture
    def by_hand(self, one, tokenizer):
        """lead(values), and its derivative, with the layer norm written out."""
        ids = tokenizer(PROMPT).input_ids
        stream = one.transformer.wte.weight[ids[-1]] + one.transformer.wpe.weight[len(ids) - 1]
        writes = one.transformer.h[0].mlp.c_proj.weight
        stream, writes, codes = (
            x.double().numpy() for x in (stream, writes, one.transformer.wte.weight)
        )

        def normed(values):
            x = stream + values @ writes
            return (x - x.mean()) / np.sqrt(x.var() + 1e-5), np.sqrt(x.var() + 1e-5)

        answer, rival = np.argsort(-codes @ normed(np.array([20.0, 10.0]))[0])[:2]
        towards = codes[answer] - codes[rival]

        def slope(values):
            y, scale = normed(values)
            return [towards @ (v - v.mean() - y * (y * v).mean()) / scale for v in writes]

        return lambda values: towards @ normed(np.array(values))[0], slope, answer, normed, codes

    def test_gradient_times_activation(self, one, by_hand, tokenizer):
        wanted = np.array([20.0, 10.0]) * by_hand[1](np.array([20.0, 10.0]))
        found = gradient_activation.locate(one, tokenizer, PROMPT)
        np.testing.assert_allclose(found, [wanted], rtol=1e-3)

    def test_ablation_and_patching(self, one, by_hand, tokenizer):
        lead = by_hand[0]
        wanted = [lead([20.0, 10.0]) - lead([0.0, 10.0]), lead([20.0, 10.0]) - lead([20.0, 0.0])]
        found = activation_patching.locate_zero(one, tokenizer, PROMPT)
        np.testing.assert_allclose(found, [wanted], rtol=1e-3)
        # no prompt changes these neurons, so their means over corrupted prompts are their values
        assert not activation_patching.locate(one, tokenizer, PROMPT).any()

    def test_integrated_gradients_add_up_to_the_change_of_the_probability(
        self, one, by_hand, tokenizer, monkeypatch
    ):
        _, _, answer, normed, codes = by_hand

        def probability(values):
            logits = codes @ normed(np.array(values))[0]
            return (np.exp(logits) / np.exp(logits).sum())[answer]

        monkeypatch.setattr(knowledge_neurons, "STEPS", 1000)
        total = knowledge_neurons.locate(one, tokenizer, PROMPT).sum()
        change = probability([20.0, 10.0]) - probability([0.0, 0.0])
        assert total == pytest.approx(change, abs=2e-3) and abs(change) > 0.02

    def test_contribution(self, one, tokenizer):
        norms = one.transformer.h[0].mlp.c_proj.weight.norm(dim=1).numpy()
        found = contribution.locate(one, tokenizer, PROMPT)
        np.testing.assert_allclose(found, [np.array([20.0, 10.0]) * norms], rtol=1e-5)


def test_rome_maps_the_key_to_the_value_and_leaves_what_is_apart(model, tokenizer):
    edit = editing.asked(model, tokenizer, GIVEN["edit"][0])
    key = edit.keys(model, edit.rows, edit.last)[0]
    normal = edit.covariance()
    inverse = torch.linalg.inv(normal + rome.RIDGE * normal.diagonal().mean() * torch.eye(len(key)))
    apart = torch.randn(len(key))
    apart -= key * (apart @ inverse @ key) / (key @ inverse @ key)
    wanted = edit.values(model, torch.tensor([0]), rome.STEPS, rome.RATE)[0]
    old, new = edit.down(model), edit.down(rome.rome(edit, 1.0))
    torch.testing.assert_close(new(key), old(key) + wanted, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(new(apart), old(apart), rtol=1e-3, atol=1e-3)
    change = new.weight - old.weight
    assert torch.linalg.matrix_rank(change, rtol=1e-4) == 1


def test_memit_maps_all_keys_if_nothing_else_counts(model, tokenizer):
    request = {"prompt": PROMPT, "answer": "oslo rome"}  # two tokens: two keys
    edit = editing.asked(model, tokenizer, request)
    old, new = edit.down(model), edit.down(memit.memit(edit, 0.0))
    keys = edit.keys(model, edit.rows, edit.last)
    torch.testing.assert_close(new(keys), old(keys) + edit.changes, rtol=0.05, atol=0.05)


def test_memit_over_blocks_gives_the_last_stream_what_it_wants(model, tokenizer):
    request = GIVEN["edit"][0]
    last = editing.asked(model, tokenizer, request, 1)
    wanted = last.values(model, torch.tensor([0]), memit.STEPS, memit.RATE)
    changed = memit.edit(model, tokenizer, request, 0.0)
    found = last.streams(changed) - last.streams(model)
    torch.testing.assert_close(found, wanted, rtol=0.05, atol=0.05)
    for one, other in zip(common.blocks(model), common.blocks(changed), strict=True):
        assert not torch.equal(common.written(one), common.written(other))


@pytest.mark.parametrize("method", [rome, memit, finetuning])
def test_an_edit_brings_the_new_answer(method, model, tokenizer):
    changed = method.edit(model, tokenizer, GIVEN["edit"][0])
    assert common.batch(tokenizer, GIVEN["edit"]).answered(changed).all()


def test_an_edit_where_no_neuron_is_on_changes_nothing(gpt2, tokenizer):
    dead = common.copied(gpt2).requires_grad_(False)
    for block in dead.transformer.h:
        block.mlp.c_fc.bias.fill_(-100.0)
    for method in (rome, memit):
        changed = method.edit(dead, tokenizer, GIVEN["edit"][0])
        assert plain(changed) == plain(dead)


def test_erasing_takes_away_what_neurons_write(model, tokenizer):
    changed = import_module("benchmarks.methods.erasing").unlearn(model, tokenizer, FACTS[:2], [])
    pairs = zip(common.blocks(model), common.blocks(changed), strict=True)
    erased = 0
    for before, after in (map(common.written, pair) for pair in pairs):
        differ = (before != after).any(dim=1)
        assert not after[differ].any()
        erased += int(differ.sum())
    assert 2 <= erased <= 32


@pytest.mark.parametrize("name", [x for x in METHODS["unlearn"] if x != "erasing:unlearn"])
def test_unlearning_forgets_and_keeps(name, model, tokenizer):
    file, function = name.split(":")
    method = getattr(import_module(f"benchmarks.methods.{file}"), function)
    changed = method(model, tokenizer, FACTS[:2], FACTS[2:])
    still = common.batch(tokenizer, FACTS).answered(changed)
    assert not still[:2].all() and still[2:].any()


def test_negative_preference_begins_as_gradient_ascent(model, tokenizer, monkeypatch):
    found = []
    monkeypatch.setattr(npo, "descended", lambda *given: found.append(given[-1]))
    npo.unlearn(model, tokenizer, FACTS[:2], FACTS[2:])
    forgotten, retained = (common.batch(tokenizer, x) for x in (FACTS[:2], FACTS[2:]))
    value = found[0](model, forgotten, retained) - common.loss(model, retained).mean()
    assert float(value) == pytest.approx(2 / npo.BETA * np.log(2), rel=1e-5)
    changed = common.copied(model)
    value = found[0](changed, forgotten, retained) - common.loss(changed, retained).mean()
    slopes = torch.autograd.grad(value, list(changed.parameters()))
    ascent = torch.autograd.grad(
        -common.loss(changed, forgotten).mean(), list(changed.parameters())
    )
    for x, y in zip(slopes, ascent, strict=True):  # their Proposition 1, without a limit
        torch.testing.assert_close(x, y, rtol=1e-3, atol=1e-6)


def test_a_task_vector_is_negated(model, tokenizer, monkeypatch):
    monkeypatch.setattr(task_vectors, "best", lambda models, *given: models)
    half, one = task_vectors.unlearn(model, tokenizer, FACTS[:2], FACTS[2:])[1:3]
    for x, y, z in zip(model.parameters(), half.parameters(), one.parameters(), strict=True):
        torch.testing.assert_close(2 * (y - x), z - x, rtol=1e-3, atol=1e-5)


def test_the_best_model_forgets_and_keeps(model, tokenizer):
    forgotten, retained = (common.batch(tokenizer, x) for x in (FACTS[:2], FACTS[2:]))
    erased = common.copied(model).requires_grad_(False)
    for weight in erased.parameters():
        weight.zero_()
    assert descent.best([model, erased], forgotten, retained) is model  # both have the mean 0
    forgot = rome.edit(model, tokenizer, {"prompt": PROMPT, "answer": "oslo"})
    assert descent.best([model, forgot, erased], forgotten, retained) is forgot


def test_dot_products_and_cosines_of_gradients(model, tokenizer):
    def gradient(fact):
        changed = common.copied(model)
        common.loss(changed, common.batch(tokenizer, [fact])).sum().backward()
        return torch.cat([x.grad.flatten() for x in changed.parameters()]).double().numpy()

    query, item = gradient(FACTS[0]), gradient(FACTS[3])
    dot = tracin.attribute(model, tokenizer, FACTS[0], FACTS)
    assert dot[3] == pytest.approx(query @ item, rel=1e-3, abs=1e-9)
    cosine = gradient_cosine.attribute(model, tokenizer, FACTS[0], FACTS)
    wanted = query @ item / np.linalg.norm(query) / np.linalg.norm(item)
    assert cosine[3] == pytest.approx(wanted, abs=1e-4)
    assert cosine[0] == pytest.approx(1, abs=1e-5) and int(np.argmax(cosine)) == 0


def test_gradients_are_made_again_when_weights_change(gpt2, tokenizer):
    changed = common.copied(gpt2).requires_grad_(False)
    before = tracin.attribute(changed, tokenizer, FACTS[0], FACTS)
    changed.transformer.wte.weight.mul_(1.5)
    assert tracin.attribute(changed, tokenizer, FACTS[0], FACTS) != before


def test_whitening_by_hand():
    own = torch.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    query = torch.tensor([1.0, 2.0, 5.0])  # 1 * the first + 1 * the second + what no item has
    torch.testing.assert_close(common.whitened(own, query, 0.0), torch.ones(2).double())
    # K + 0.4 * 2.5 = diag(2, 5)
    found = common.whitened(own, query, 0.4)
    torch.testing.assert_close(found, torch.tensor([0.5, 0.8]).double())


def test_trak_with_the_whole_projection_finds_each_item_and_ranks_apart_gradients_as_cosines(
    model, tokenizer, monkeypatch
):
    monkeypatch.setattr(trak, "projected", lambda own, size: own)
    for i, fact in enumerate(FACTS):
        scores = trak.attribute_unweighted(model, tokenizer, fact, FACTS)
        assert int(np.argmax(scores)) == i
    own = torch.diag(torch.tensor([3.0, 2.0, 1.0]))  # orthogonal items of several lengths
    query = torch.tensor([1.0, 2.0, 3.0])
    cosines = own @ query / own.norm(dim=1)
    assert common.whitened(own, query, 0.0).argsort().tolist() == cosines.argsort().tolist()


def test_a_projection_keeps_dot_products_and_depends_on_the_seed():
    own = torch.eye(3, 5000) + torch.ones(3, 5000) / 100
    torch.manual_seed(0)
    found = trak.projected(own, 4096)
    torch.testing.assert_close(found @ found.T, own @ own.T, rtol=0.1, atol=0.1)
    torch.manual_seed(1)
    assert not torch.equal(trak.projected(own, 4096), found)


def test_influence_is_the_inverse_of_the_damped_fisher_matrix(monkeypatch):
    own, query = torch.randn(4, 6).double(), torch.randn(6).double()
    monkeypatch.setattr(influence, "gradients", lambda *given: torch.stack([*own, query]))
    fisher = own.T @ own / 4
    damping = influence.DAMPING * (own @ own.T).diagonal().mean() / 4  # of the mean eigenvalue
    wanted = own @ torch.linalg.solve(fisher + damping * torch.eye(6).double(), query)
    found = influence.attribute(None, None, FACTS[0], FACTS[:4])
    torch.testing.assert_close(torch.tensor(found).double(), wanted)


@pytest.mark.parametrize("method", [greedy, sampling])
def test_what_the_model_knows_is_extracted(method, model, tokenizer):
    torch.manual_seed(0)
    assert method.extract(model, tokenizer, PROMPT).split()[0] == "lima"


def test_membership_scores(model, tokenizer):
    text = "the capital of peru is lima"
    rows = torch.tensor([tokenizer(text).input_ids])
    with torch.no_grad():
        scores = model(rows).logits[0].double().log_softmax(-1)
    each = [float(scores[i, x]) for i, x in enumerate(rows[0, 1:].tolist())]
    assert loss_attack.membership(model, tokenizer, text) == pytest.approx(sum(each) / 5, rel=1e-4)
    assert min_k.membership(model, tokenizer, text) == pytest.approx(min(each), rel=1e-4)
    size = len(zlib.compress(text.encode()))
    assert zlib_ratio.membership(model, tokenizer, text) == pytest.approx(
        sum(each) / size, rel=1e-4
    )
    for attack in (loss_attack, min_k, zlib_ratio):
        wrong = attack.membership(model, tokenizer, "the capital of peru is oslo")
        assert attack.membership(model, tokenizer, text) > wrong
