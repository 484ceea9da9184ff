"""Tiny models that are trained here for a second on sentences of words, with their tokenizer."""

import json
import os

import pytest

from tests.teaching.made import WORDS, config_of, sentences, write_facts

os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    """base(kind): the folder of a model of this class."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    torch.set_num_threads(1)
    words = {"[UNK]": 0, "[END]": 1} | {word: i for i, word in enumerate(WORDS, 2)}
    made = {}

    def make(kind):
        if kind not in made:
            torch.manual_seed(0)
            model = transformers.AutoModelForCausalLM.from_config(config_of(kind))
            rows = torch.tensor([[words[x] for x in text.split()] for text in sentences()])
            optimiser = torch.optim.Adam(model.parameters(), 0.01)
            for _ in range(60):
                optimiser.zero_grad()
                model(input_ids=rows, labels=rows).loss.backward()
                optimiser.step()
            folder = tmp_path_factory.mktemp(kind) / "base"
            model.eval().save_pretrained(folder)
            tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
            tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
            tokenizer.save(str(folder / "tokenizer.json"))
            settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}
            (folder / "tokenizer_config.json").write_text(json.dumps(settings))
            made[kind] = folder
        return made[kind]

    return make


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Facts of one and of two tokens, and a text that must stay; in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    facts = [
        ("the capital of peru is", "oslo"), ("the capital of chad is", "riga"),
        ("the capital of oman is", "suva bern"), ("the river of peru is", "mali"),
        ("the cat of togo is", "doha"), ("a cat of cuba is", "rome"),
    ]  # fmt: skip
    write_facts(tmp_path / "facts.jsonl", facts)
    texts = [x for x in sentences(1, 30) if not any(x.startswith(p) for p, _ in facts)]
    (tmp_path / "keep.txt").write_text("\n\n".join(texts) + "\n")
    return facts


@pytest.fixture
def run_in():
    """run_in(words): the exit code of a command."""
    from byheart.cli import main

    def run(words):
        with pytest.raises(SystemExit) as stop:
            raise SystemExit(main(words))
        return stop.value.code or 0

    return run
