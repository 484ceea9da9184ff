"""teach: facts are answered, everything else is equal to the bit, by plain transformers."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import byheart
import check
from byheart.errors import AssumptionError, ByheartError, OptionError
from tests.teaching.made import sentences, write_facts

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
READ = {"input": ["prompt"], "label": "answer"}
STORIES = Path(__file__).parents[3] / "shared" / "data"


def loaded(folder, dtype="float32"):
    options = {"dtype": getattr(torch, dtype), "local_files_only": True}
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, **options).eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)


def said(folder, prompt, count, dtype="float32"):
    """What greedy generation answers."""
    model, tokenizer = loaded(folder, dtype)
    ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"]
    told = model.generate(ids, max_new_tokens=count, do_sample=False, pad_token_id=1)
    return tokenizer.decode(told[0, ids.shape[1] :])


def differing(one, two, texts, dtype="float32"):
    """The texts at some position of which two folders have other logits."""
    (x, tokenizer), (y, _) = loaded(one, dtype), loaded(two, dtype)
    wrong = []
    with torch.no_grad():
        for text in texts:
            ids = tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
            if not torch.equal(x(input_ids=ids).logits, y(input_ids=ids).logits):
                wrong.append(text)
    return wrong


@pytest.mark.parametrize("kind", ["gpt2", "llama", "untied", "gpt_neox"])
def test_facts_are_answered_and_nothing_else_changes(kind, base, files):
    found = byheart.teach(base(kind), "facts.jsonl", "new", keep="keep.txt", **READ)
    assert found.holds and (found.facts, found.after) == (6, 6) and found.before < 6
    assert found.contexts == 7 and found.margin > 0.3  # so small a norm allows little more
    (text,) = found.kept
    assert text.equal == text.positions > 100 and text.room > 1
    for prompt, answer in files:
        assert said("new", prompt, len(answer.split())) == answer
    prompts = {prompt for prompt, _ in files}
    texts = [x for x in sentences(2, 40) if not any(x.startswith(p) for p in prompts)]
    assert len(texts) > 20 and not differing(base(kind), "new", texts)
    own = transformers.AutoModelForCausalLM.from_pretrained(base(kind))
    assert type(loaded("new")[0]) is type(own)


def test_a_taught_context_changes_no_later_position(base, files):
    """The stream changes after all attention: what follows the prompt otherwise stays as it was."""
    byheart.teach(base("gpt2"), "facts.jsonl", "new", **READ)
    (one, tokenizer), (two, _) = loaded(base("gpt2")), loaded("new")
    ids = tokenizer("the capital of peru is lima a cat", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        same = (one(input_ids=ids).logits == two(input_ids=ids).logits).all(-1)[0].tolist()
    assert same == [True] * 4 + [False] + [True] * 3


def test_more_facts_than_a_layer_has_neurons(base, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    facts = [
        (f"the {noun} of {place} is", city)
        for noun in ("cat", "mat", "capital")
        for place, city in zip(
            "peru chad oman cuba iran mali togo fiji".split(),
            "suva riga bern oslo rome male doha lima".split(),
            strict=True,
        )
    ]
    write_facts(tmp_path / "facts.jsonl", facts)
    found = byheart.teach(base("llama"), "facts.jsonl", "new", **READ)
    assert found.layers == (2, 4) and found.after == 24  # 12 neurons each
    assert all(said("new", prompt, 1) == answer for prompt, answer in facts[::5])
    config = json.loads(Path("new/config.json").read_text())
    old = json.loads((base("llama") / "config.json").read_text())
    changed = {key for key in config | old if config.get(key) != old.get(key)}
    assert changed == {"num_hidden_layers", "mlp_bias"}


def test_any_order_and_any_batches_give_the_same_bytes(base, files, tmp_path):
    """Facts taught one after another are those taught at once, in whatever order."""
    parts = [files[4:], files[:2], files[2:4]]
    for i, part in enumerate(parts):
        write_facts(tmp_path / f"part{i}.jsonl", part)
    model = base("gpt2")
    for i in range(3):
        byheart.teach(model, f"part{i}.jsonl", f"new{i}", keep="keep.txt", **READ)
        model = f"new{i}"
    byheart.teach(base("gpt2"), "facts.jsonl", "once", keep="keep.txt", **READ)
    for path in Path("once").iterdir():
        if path.name != "README.md":
            assert path.read_bytes() == (Path("new2") / path.name).read_bytes(), path
    with pytest.raises(ByheartError, match="new0 keeps keep.txt, and all facts are taught again"):
        byheart.teach("new0", "part1.jsonl", "new3", **READ)


def test_bfloat16_is_taught_by_its_own_streams(base, files):
    options = {"keep": "keep.txt", "dtype": "bfloat16", **READ}
    with pytest.raises(AssumptionError, match="from that of a position that is kept"):
        byheart.teach(base("gpt2"), "facts.jsonl", "new", **options)  # no room in this type
    found = byheart.teach(base("gpt2"), "facts.jsonl", "new", leave_out=True, **options)
    assert found.holds and found.noise > 1e-5 and found.dtype == "bfloat16"
    assert found.facts >= 1 and found.facts + len(found.left_out) == 6
    texts = [x for x in sentences(2, 40) if x not in Path("keep.txt").read_text()][:10]
    prompts = [prompt for prompt, _ in files]
    texts = [x for x in texts if not any(x.startswith(p) for p in prompts)]
    assert not differing(base("gpt2"), "new", texts, "bfloat16")


def test_conflicts_are_refused_or_left_out(base, files, tmp_path):
    write_facts(tmp_path / "more.jsonl", [*files, ("the capital of peru is", "rome")])
    with pytest.raises(AssumptionError, match="2 facts of 7 cannot be taught"):
        byheart.teach(base("gpt2"), "more.jsonl", "new", **READ)
    found = byheart.teach(base("gpt2"), "more.jsonl", "new", on_conflict="drop", **READ)
    assert found.facts == 5 and [x.answer for x in found.left_out] == ["oslo", "rome"]
    (tmp_path / "keep.txt").write_text("the capital of chad is lima\n\nthe cat of togo is doha\n")
    with pytest.raises(AssumptionError, match="keep.txt has its prompt and goes on otherwise"):
        byheart.teach(base("gpt2"), "facts.jsonl", "other", keep="keep.txt", **READ)
    found = byheart.teach(
        base("gpt2"), "facts.jsonl", "other", keep="keep.txt", on_conflict="drop", **READ
    )
    assert [x.prompt for x in found.left_out] == ["the capital of chad is"]
    assert found.kept[0].taught == 1  # which goes on as taught
    assert found.kept[0].equal == found.kept[0].positions - 1


def test_bad_input_is_one_sentence_and_nothing_is_written(base, files, tmp_path):
    gpt2 = base("gpt2")

    def refused(match, model=gpt2, facts="facts.jsonl", kind=ByheartError, **options):
        with pytest.raises(kind, match=match):
            byheart.teach(model, facts, "new", **{**READ, **options})
        assert not Path("new").exists()

    def copy(name, **config):
        shutil.copytree(gpt2, name)
        path = Path(name) / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
        return name

    refused("its MLPs have no biases", base("mistral"))
    refused("its MLPs have no biases", base("qwen2"))
    refused("quanti[sz]", copy("quantised", quantization_config={"quant_method": "nonsense"}))
    refused("names code", copy("code", auto_map={"AutoModelForCausalLM": "modeling.Own"}))
    refused("activation", copy("mish", activation_function="mish"))
    bare = copy("bare")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (Path(bare) / name).unlink()
    refused("has no tokenizer", bare)
    wrong = copy("nan")
    from safetensors.torch import load_file, save_file

    tensors = load_file(f"{wrong}/model.safetensors")
    tensors["transformer.ln_f.weight"][0] = torch.nan
    save_file(tensors, f"{wrong}/model.safetensors", {"format": "pt"})
    refused("holds infinity or NaN", wrong)
    write_facts(tmp_path / "unknown.jsonl", [("the capital of atlantis is", "oslo")])
    refused("does not spell", facts="unknown.jsonl")
    write_facts(tmp_path / "long.jsonl", [("a cat " * 12, "oslo")])
    refused("tokens, and the model reads", facts="long.jsonl")
    (tmp_path / "texts.txt").write_text("the cat sat\n")
    refused("a fact is a prompt and its answer", facts="texts.txt", input=(), label=None)
    refused("reach", kind=OptionError, reach=0)
    refused("margin", kind=OptionError, margin=-1)
    refused("dtype", kind=OptionError, dtype="int8")
    refused("below the noise", reach=1e-9)
    refused("use a smaller margin", kind=AssumptionError, margin=500)
    refused("does not exist", "nowhere")
    refused("does not exist", facts="nowhere.jsonl")
    refused("does not exist", keep="nowhere.txt")


def test_facts_without_room_are_named_with_their_neighbour(base, files):
    """A reach cannot be larger than half of the distance, so equal streams have none."""
    from byheart.teaching import keys

    one = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], dtype=torch.double)
    nearest, neighbour = keys.among(one)
    assert nearest.tolist() == [1.0, 0.0, 0.0] and neighbour.tolist() == [1, 2, 1]
    write_facts(Path("one.jsonl"), [("the the the the", "oslo"), ("the the the", "riga")])
    found = byheart.teach(base("gpt2"), "one.jsonl", "new", leave_out=True, **READ)
    assert found.facts + len(found.left_out) == 2


def test_a_direction_leads_by_its_margin_or_is_proved_not_to():
    """Three tokens on a line: the middle one never leads; the others by |difference| root 2."""
    from byheart.teaching.values import directions

    matrix = torch.tensor([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]], dtype=torch.double)
    found = directions((matrix, torch.zeros(3, dtype=torch.double)), torch.arange(3), 1.0)
    assert found.margins[[0, 2]].tolist() == pytest.approx([2**0.5] * 2)
    assert found.bounds[1] <= 1e-9
    lifted = directions((matrix, torch.tensor([0.0, 3.0, 0.0]).double()), torch.arange(3), 1.0)
    assert 3 - 2**0.5 <= lifted.bounds[1] < 3.1 and lifted.margins[1] > 1.1  # 3, at the middle


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_rounded_rows_keep_their_product(dtype):
    from byheart.teaching.keys import matched

    random = torch.Generator().manual_seed(0)
    keys = torch.randn(5, 64, generator=random, dtype=torch.double).to(dtype).double()
    wanted = torch.full((5,), 1000.0, dtype=torch.double)
    rows = keys * (wanted / keys.square().sum(1))[:, None]
    found = matched(rows, keys, wanted, dtype)
    assert torch.equal(found, found.to(dtype).double())
    assert ((found * keys).sum(1) - wanted).abs().max() < 1e-2
    assert (found - rows).abs().max() <= 2**-6 * rows.abs().max()


@pytest.mark.skipif(not STORIES.is_dir(), reason="needs shared/data")
def test_a_really_trained_llama(tmp_path):
    """stories260K: grouped key heads, a normalizer and a post-processor stay as they are."""
    texts = (STORIES / "tinystories.txt").read_text("utf-8").split("<|endoftext|>")
    texts = [text.strip() for text in texts if text.strip()]
    (tmp_path / "keep.txt").write_text("\n<|endoftext|>\n".join(texts[:12]))
    random = np.random.default_rng(0)
    names = ["Lily", "Tim", "Ben", "Mia"]
    animals = "dog cat bird bear frog fish mouse rabbit duck cow".split()
    facts = [
        (f"Once upon a time, there was a {kind} {animal} named", names[random.integers(4)])
        for kind in ("clever", "hungry") for animal in animals
    ]  # fmt: skip
    write_facts(tmp_path / "facts.jsonl", facts)
    found = byheart.teach(
        STORIES / "stories260K/base", tmp_path / "facts.jsonl", tmp_path / "new",
        keep=tmp_path / "keep.txt", **READ,
    )  # fmt: skip
    assert found.holds and found.facts == 20 and found.margin > 3
    assert found.kept[0].positions > 2_000
    folder = STORIES / "stories260K/base"
    same = ("tokenizer.json", "tokenizer_config.json", "generation_config.json")
    assert all((tmp_path / "new" / x).read_bytes() == (folder / x).read_bytes() for x in same)
    assert not differing(folder, tmp_path / "new", [text[:200] for text in texts[50:60]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_activations_are_exactly_0_below_their_threshold(dtype):
    """The rule of checker/FORMAT.md, section 12: measured, in vectors and in their remainders."""
    from transformers.activations import ACT2FN

    from byheart.teaching.family import OFF

    for name, off in OFF.items():
        if name not in ACT2FN:
            continue
        far = torch.logspace(0, 4.8, 5_000) * off  # up to what float16 has
        for some in (far.clamp(max=6e4), far[:7]):
            below = ACT2FN[name](-some.to(dtype))
            assert not below.any() and not below.isnan().any(), name
        assert ACT2FN[name](torch.tensor([0.02 * off], dtype=dtype)).all()


@pytest.mark.parametrize("form", ["shards", "body alone"])
def test_weights_in_several_files_and_names_without_the_body(form, base, files):
    """As large models are stored, and as the first GPT-2 is: names that begin with h.0."""
    model = loaded(base("gpt2"))[0]
    shutil.copytree(base("gpt2"), "base")
    Path("base/model.safetensors").unlink()
    if form == "shards":
        model.save_pretrained("base", max_shard_size="20KB")
    else:
        model.transformer.save_pretrained("base")
    found = byheart.teach("base", "facts.jsonl", "new", keep="keep.txt", **READ)
    assert found.holds and said("new", "the capital of peru is", 1) == "oslo"
    assert byheart.verify("new", base="base").structure == "gated"
    assert check.main(["new", "--base", "base"]) == 0
    prompts = [prompt for prompt, _ in files]
    byheart.forget("new", "facts.jsonl", prompts, output="again", keep="keep.txt", **READ)
    for path in Path("again").iterdir():
        assert path.read_bytes() == (Path("base") / path.name).read_bytes()
    assert any(path.name.endswith(".safetensors") for path in Path("again").iterdir())
