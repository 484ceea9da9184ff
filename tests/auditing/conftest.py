"""Tiny checkpoints, one per family, made here: nothing is downloaded."""

import os

import numpy as np
import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
VOCABULARY, LENGTH = 32, 24
SIZES = {"hidden_size": 16, "num_attention_heads": 4, "num_hidden_layers": 2}


def config_of(family):
    import transformers

    if family == "gpt2":
        return transformers.GPT2Config(
            vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=16, n_layer=2, n_head=4,
            bos_token_id=None, eos_token_id=None,
        )  # fmt: skip
    more = {"vocab_size": VOCABULARY, "max_position_embeddings": LENGTH, "intermediate_size": 32}
    if family == "gpt_neox":
        return transformers.GPTNeoXConfig(**SIZES, **more, bos_token_id=None, eos_token_id=None)
    kinds = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}
    own = {"head_dim": 4} if family == "qwen3" else {}
    return getattr(transformers, f"{kinds[family]}Config")(
        **SIZES, **more, **own, num_key_value_heads=2, bos_token_id=None, eos_token_id=None
    )


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """checkpoint(family, seed, **save_pretrained options): the folder of a model, made once."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.set_num_threads(1)  # so small a model only waits for more
    made = {}

    def make(family, seed=0, scale=1.0, dtype=None, **options):
        key = (family, seed, scale, dtype, *sorted(options.items()))
        if key not in made:
            torch.manual_seed(seed)
            model = transformers.AutoModelForCausalLM.from_config(config_of(family))
            with torch.no_grad():
                for tensor in model.parameters():
                    tensor.mul_(scale)
            if dtype is not None:
                model = model.to(getattr(torch, dtype))
            made[key] = tmp_path_factory.mktemp(family) / "model"
            model.save_pretrained(made[key], **options)
        return made[key]

    return make


@pytest.fixture(scope="session")
def tokenized(checkpoint, tmp_path_factory):
    """A GPT-2 with a tokenizer of 32 words."""
    import shutil

    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("tokenized") / "model"
    shutil.copytree(checkpoint("gpt2"), folder)
    words = {"[UNK]": 0} | {f"w{i}": i for i in range(1, VOCABULARY)}
    made = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}'
    )
    return folder


@pytest.fixture
def ids(tmp_path):
    """ids(rows, name): a file of token ids, documents of a .bin file."""

    def write(rows, name="data.bin"):
        flat = [token for row in rows for token in [*row, 65_535]]
        path = tmp_path / name
        path.write_bytes(np.array(flat, "<u2").tobytes())
        return path

    return write


@pytest.fixture
def random_rows():
    def draw(count, length=12, seed=1):
        return np.random.default_rng((7, seed)).integers(0, VOCABULARY, (count, length)).tolist()

    return draw
