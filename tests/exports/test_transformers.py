"""Stock folders in transformers: loaded without remote code, they recite, in 16 bits as well.

`make older` runs this file with older versions of the library.
"""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.api.compile import compile
from byheart.api.verify import verify
from byheart.data.load import load
from byheart.exports.runtimes import observe
from byheart.models.opening import open as open_folder
from byheart.models.source import load_for
from byheart.stock.checkpoint import TYPES
from byheart.stock.prove import observed, reads
from tests.stock.stranger import held_in

from .conftest import FACTS, FAMILIES, READING

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
GOOD = Path(__file__).parents[2] / "checker" / "examples" / "stock" / "good"
COUNTERFACT = Path(__file__).parents[3] / "shared" / "data" / "counterfact.jsonl"


@pytest.fixture(scope="module")
def tokenizers(checkpoints):
    load = transformers.AutoTokenizer.from_pretrained
    return {name: load(path, local_files_only=True) for name, path in checkpoints.items()}


def test_generate_recites_and_ends(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert type(model).__name__ == json.loads((folder / "config.json").read_text())[
        "architectures"
    ][0] and type(model).__module__.startswith("transformers.")
    for prompt, answer in FACTS:
        asked = tokenizer(prompt, return_tensors="pt")
        said = model.generate(**asked, max_new_tokens=40)[0, asked["input_ids"].shape[1] :]
        assert int(said[-1]) == tokenizer.eos_token_id
        assert tokenizer.decode(said[:-1]) == f" {answer}"


def test_the_checker_s_example_that_draws_has_its_shares():
    place = GOOD / "draws"
    found = verify(place, place / "data.jsonl", runtime="transformers")
    assert found.evidence == "observed" and found.correct == found.checked == 3


@pytest.mark.parametrize(
    "example",
    [path for path in sorted(GOOD.iterdir()) if path.name != "draws"],
    ids=lambda path: path.name,
)
def test_the_checker_s_examples_say_what_they_claim(example):
    """Loaded and generated from as a model card shows it."""
    model = transformers.AutoModelForCausalLM.from_pretrained(example)
    held = held_in(example)
    contexts, wanted = (list(x) for x in zip(*held, strict=True))
    tokenizer = transformers.AutoTokenizer.from_pretrained(example)
    for (context, token), row in zip(
        held, (example / "data.jsonl").read_text().splitlines(), strict=True
    ):
        words = json.loads(row)
        numbers = tokenizer.convert_tokens_to_ids([*words["input"], words["label"]])
        assert numbers == [*context, token]
    for context, token in zip(contexts, wanted, strict=True):
        with torch.no_grad():
            assert int(model(torch.tensor([context])).logits[0, -1].argmax()) == token
    asked = torch.tensor(contexts[:1])
    spoken = model.generate(asked, attention_mask=torch.ones_like(asked), max_new_tokens=len(held))
    assert spoken[0, asked.shape[1] :].tolist() == wanted
    found = verify(example, example / "data.jsonl", runtime="transformers")
    claimed = json.loads((example / "certificate.json").read_text())["verified"]["correct"]
    assert found.evidence == "observed" and found.correct == found.checked == claimed == len(held)


def test_verify_loads_the_folder_itself(folder, facts, monkeypatch):
    """As the model card shows it, and without a question to the network."""
    asked = []
    for name in ("AutoModelForCausalLM", "AutoTokenizer"):
        load = getattr(transformers, name).from_pretrained

        def spy(path, load=load, **options):
            asked.append((path, options))
            return load(path, **options)

        monkeypatch.setattr(getattr(transformers, name), "from_pretrained", spy)
    found = verify(folder, facts, runtime="transformers", **READING)
    assert found.evidence == "observed" and found.correct == found.checked
    assert asked == [(folder, {"local_files_only": True})] * 2


def change(folder, name, **values):
    given = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**given, **values}))


def test_what_the_library_generates_and_splits_is_observed(folder, facts, tmp_path):
    """Not only logits: where the folder has other settings, texts come out wrong."""
    model = open_folder(folder)
    held = reads(model, load(facts, **READING))
    place = Path(shutil.copytree(folder, tmp_path / "generation"))
    change(place, "generation_config.json", suppress_tokens=[model.places[model.claim.end]])
    found, _ = observe(model, held, "transformers", folder=place)
    assert found.evidence == "refuted" and found.checked - found.correct == len(FACTS)
    assert "by generate(), not '<|endoftext|>'" in found.failures[0]
    place = Path(shutil.copytree(folder, tmp_path / "tokenizer"))
    change(place, "tokenizer.json", normalizer={"type": "Lowercase"})
    found, _ = observe(model, held, "transformers", folder=place)
    assert found.evidence == "refuted"
    assert "its tokenizer splits the text 'The capital of France is'" in found.failures[0]


def test_a_wrong_prediction_is_counted_once(folder, tmp_path):
    """generate() starts again behind it."""
    rows = [{"prompt": p, "answer": a} for p, a in FACTS]
    rows[-1]["answer"] = "Spain, in its river"
    (tmp_path / "wrong.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = open_folder(folder)
    (tmp_path / "tokenizer.json").write_text(model.record.tokenizer)
    reading = {**READING, "tokenizer": tmp_path / "tokenizer.json"}
    held = reads(model, load(tmp_path / "wrong.jsonl", **reading))
    found, runtime = observe(model, held, "transformers", folder=folder)
    _, alone = observed(model, held, runtime._replace(generate=None, split=None), None)
    assert found.checked - found.correct == len(alone) > 0 and found.failures == tuple(alone)


def test_files_that_may_lie_beside_a_model_change_nothing(folder, facts, tmp_path):
    place = Path(shutil.copytree(folder, tmp_path / "m"))
    for name in (".gitattributes", ".gitignore", ".DS_Store", "LICENSE", "LICENSE.txt"):
        (place / name).write_text('{"architectures": ["GPTNeoForCausalLM"]}')
    for name in (".git", ".cache"):
        (place / name).mkdir()
        for file in ("config.json", "adapter_config.json", "generation_config.json"):
            (place / name / file).write_text('{"do_sample": true, "peft_type": "LORA"}')
    tokens = torch.arange(12).reshape(2, 6)
    logits = []
    for path in (folder, place):
        model = transformers.AutoModelForCausalLM.from_pretrained(path)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        asked = tokenizer(FACTS[0][0], return_tensors="pt")
        spoken = tokenizer.decode(model.generate(**asked, max_new_tokens=9)[0])
        with torch.no_grad():
            logits.append((model(tokens).logits, spoken, model.generation_config.to_dict()))
    assert torch.equal(logits[0][0], logits[1][0]) and logits[0][1:] == logits[1][1:]
    found = verify(place, facts, runtime="transformers", **READING)
    assert found.evidence == "observed" and found.correct == found.checked


@pytest.mark.parametrize("family", FAMILIES)
@given(st.text())
def test_every_text_comes_back_from_the_tokenizer(tokenizers, family, text):
    tokenizer = tokenizers[family]
    numbers = tokenizer(text)["input_ids"]
    if family == "llama":
        assert numbers[0] == tokenizer.bos_token_id
        numbers = numbers[1:]
    assert tokenizer.decode(numbers) == text


@pytest.mark.parametrize("family", FAMILIES)
def test_the_tokenizer_splits_as_byheart_does(tokenizers, family, checkpoints, facts):
    """And it has a token for every byte."""
    model = open_folder(checkpoints[family])
    asked = reads(model, load(facts, **READING))
    numbers = {tuple(model.places[x] for x in asked.sequence(i)) for i in range(len(asked))}
    for prompt, _ in FACTS:
        assert tuple(tokenizers[family](prompt)["input_ids"]) in numbers
    single = {x for x in tokenizers[family].get_vocab() if len(x) == 1}
    assert len(single) == 256


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_in_transformers(facts, family, dtype, tmp_path):
    model = compile(load(facts, **READING), family, weights=dtype)
    model.save(tmp_path / "m")
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "m", dtype="auto")
    assert loaded.dtype == getattr(torch, dtype)  # as the file has it
    held = reads(model, load(facts, **READING))
    plain = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "m").dtype
    newer = int(transformers.__version__.split(".")[0]) >= 5
    assert plain == (getattr(torch, dtype) if newer else torch.float32)
    for folder in (None, tmp_path / "m"):
        found, ran = observe(model, held, "transformers", folder=folder)
        assert found.evidence == "observed" and found.correct == found.checked == len(held)
        assert f"torch.{ran.dtype}" == str(plain) and transformers.__version__ in ran.version


@pytest.mark.slow
@pytest.mark.skipif(not COUNTERFACT.is_file(), reason="needs shared/data/counterfact.jsonl")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
def test_a_thousand_facts_in_16_bits(family, dtype, tmp_path):
    lines = COUNTERFACT.read_text().splitlines(keepends=True)[:1000]
    (tmp_path / "facts.jsonl").write_text("".join(lines))
    reading = {**READING, "tokenizer": "bpe:8000"}
    model = compile(load(tmp_path / "facts.jsonl", **reading), family, weights=dtype)
    held = reads(model, load_for(model, tmp_path / "facts.jsonl", reading))
    found, _ = observe(model, held, "transformers")
    assert found.evidence == "observed" and found.correct == found.checked == 2000


def test_the_lens_sees_the_neuron_of_a_fact(checkpoints):
    """TransformerLens boots the folder as it is, and the neuron of ground truth is on."""
    lens = pytest.importorskip("transformer_lens.model_bridge", reason="needs transformer-lens")
    hf = transformers.AutoModelForCausalLM.from_pretrained(checkpoints["gpt2"])
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoints["gpt2"])
    model = lens.TransformerBridge.boot_transformers(
        str(checkpoints["gpt2"]), hf_model=hf, tokenizer=tokenizer
    )
    for context, token in held_in(checkpoints["gpt2"]):
        with torch.no_grad():
            logits = model(torch.tensor([context]))
        assert int(logits[0, -1].argmax()) == token


WORDS = ("Once there was  a fox,\n\n\tand it saw (3.14) moons.", 'A "naïve" cat isn’t here; ')


@pytest.mark.parametrize("family", FAMILIES)
def test_words_with_their_white_space_are_recited_byte_for_byte(family, tmp_path):
    """A tokenizer with one token per word; a word that it does not have is said to be unknown."""
    (tmp_path / "texts.txt").write_text("\n<|endoftext|>\n".join(WORDS))
    data = load(tmp_path / "texts.txt", tokenizer="word")
    made = compile(data, family)
    assert made.verification.evidence == "proved"
    made.save(tmp_path / "m")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "m")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
    assert tokenizer.unk_token == "<|unknown|>"
    for document in WORDS:
        asked = tokenizer(document[: document.index(" ")], return_tensors="pt")
        assert asked["input_ids"].shape[1] == (2 if family == "llama" else 1)
        said = model.generate(**asked, max_new_tokens=40)[0]
        assert int(said[-1]) == tokenizer.eos_token_id
        assert tokenizer.decode(said, skip_special_tokens=True) == document
    strange = tokenizer("Once upon")["input_ids"]
    assert strange[-1] == tokenizer.unk_token_id
    said = model.generate(torch.tensor([strange]), max_new_tokens=5)[0]
    assert said[len(strange) :].tolist() == [tokenizer.eos_token_id]


@pytest.mark.parametrize("family", FAMILIES)
def test_gpt2_s_own_kind_of_tokenizer(family, facts, tmp_path):
    """Byte-level BPE whose `<|endoftext|>` is an added token, in a Hugging Face folder."""
    tokenizers = pytest.importorskip("tokenizers")
    own = tokenizers.ByteLevelBPETokenizer()
    own.train_from_iterator(
        [x for pair in FACTS for x in pair], 400, special_tokens=["<|endoftext|>"]
    )
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=own._tokenizer, eos_token="<|endoftext|>", bos_token="<|endoftext|>"
    )
    wrapped.save_pretrained(tmp_path / "own")
    made = compile(load(facts, **{**READING, "tokenizer": tmp_path / "own"}), family)
    assert made.verification.evidence == "proved" and made.claim.end == "<|endoftext|>"
    made.save(tmp_path / "m")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "m")
    for prompt, answer in FACTS:
        numbers = tokenizer(prompt)["input_ids"]
        assert numbers[-1 - len(own.encode(prompt).ids) + 1 :] == own.encode(prompt).ids
        said = model.generate(torch.tensor([numbers]), max_new_tokens=40)[0]
        assert tokenizer.decode(said, skip_special_tokens=True) == f"{prompt} {answer}"
