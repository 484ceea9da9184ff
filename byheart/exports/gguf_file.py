"""GGUF: model.gguf for llama.cpp, with the tokenizer inside, all weights in float32.

llama.cpp's own converter refuses a byte-pair encoding that it has not seen before; this writes
the file directly, under the names that llama.cpp gives the same tensors.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims.kind import Runtime
from ..errors import ByheartError
from ..models.model import Model
from ..stock.checkpoint import GPT2, Checkpoint
from ..stock.forward import activation_of
from .packages import package

GPT2_NAMES = {
    "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}  # fmt: skip
LLAMA_NAMES = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}  # fmt: skip
OTHER_MERGES = "ignore_merges", "byte_fallback", "continuing_subword_prefix", "end_of_word_suffix"
LLAMA_CPP = ("xllamacpp", "the runtime llama.cpp")  # its Python binding


def write(model: Model, folder: Path) -> None:
    """model.gguf; ByheartError if llama.cpp would compute or split something else."""
    network: Checkpoint = model.network
    if activation_of(network) not in ("gelu_new", "silu"):
        raise ByheartError(
            f"llama.cpp has no {network.family.architecture} with the activation "
            f"{activation_of(network)!r}."
        )
    gguf = package("gguf", "an export to GGUF")
    tokenizer = json.loads(model.record.tokenizer or "{}")
    _refuse_other_splits(tokenizer)
    writer = gguf.GGUFWriter(str(folder / "model.gguf"), network.family.name)
    try:
        _sizes(writer, gguf, network)
        _words(writer, gguf, model, tokenizer)
        for name, tensor in tensors(network).items():
            writer.add_tensor(name, np.ascontiguousarray(tensor, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()
    _read_back(gguf, folder / "model.gguf", network)


def tensors(network: Checkpoint) -> dict[str, NDArray]:
    """The tensors under llama.cpp's names: matrices are [outputs, inputs]."""
    t, layers = network.tensors, range(network.size("layers"))
    if network.family is GPT2:
        found = {
            "token_embd.weight": t["transformer.wte.weight"],
            "position_embd.weight": t["transformer.wpe.weight"],
            "output.weight": t["transformer.wte.weight"],
            "output_norm.weight": t["transformer.ln_f.weight"],
            "output_norm.bias": t["transformer.ln_f.bias"],
        }
        for i in layers:
            for old, new in GPT2_NAMES.items():
                for part in ("weight", "bias"):
                    found[f"blk.{i}.{new}.{part}"] = t[f"transformer.h.{i}.{old}.{part}"].T
        return found
    found = {
        "token_embd.weight": t["model.embed_tokens.weight"],
        "output.weight": t["model.embed_tokens.weight"],
        "output_norm.weight": t["model.norm.weight"],
    }
    for i in layers:
        for old, new in LLAMA_NAMES.items():
            tensor = t[f"model.layers.{i}.{old}.weight"]
            if new in ("attn_q", "attn_k"):
                tensor = paired(tensor, network.size("heads"))
            found[f"blk.{i}.{new}.weight"] = tensor
    return found


def paired(tensor: NDArray, heads: int) -> NDArray:
    """Rows of queries or keys in llama.cpp's order: lanes 2 f, 2 f + 1 in place of f, f + s / 2."""
    size = len(tensor) // heads
    return tensor.reshape(heads, 2, size // 2, -1).swapaxes(1, 2).reshape(tensor.shape)


def _sizes(writer: Any, gguf: Any, network: Checkpoint) -> None:
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_context_length(network.size("places"))
    writer.add_embedding_length(network.size("width"))
    writer.add_block_count(network.size("layers"))
    writer.add_head_count(network.size("heads"))
    writer.add_feed_forward_length(network.size("hidden"))
    if network.family is GPT2:
        writer.add_layer_norm_eps(network.epsilon)
        return
    writer.add_layer_norm_rms_eps(network.epsilon)
    writer.add_head_count_kv(network.size("heads"))
    writer.add_key_length(network.head_size)
    writer.add_value_length(network.head_size)
    writer.add_rope_dimension_count(network.head_size)
    writer.add_rope_freq_base(network.rotary_base)
    writer.add_vocab_size(network.size("vocabulary"))


def _refuse_other_splits(tokenizer: dict) -> None:
    """ByheartError unless llama.cpp's gpt-2 tokenizer splits every text as this one does."""
    splits = tokenizer.get("pre_tokenizer") or {}
    model = tokenizer.get("model") or {}
    plain = (
        model.get("type", "BPE") == "BPE"
        and not any(model.get(name) for name in OTHER_MERGES)
        and tokenizer.get("normalizer") is None
        and splits.get("type") == "ByteLevel"
        and splits.get("use_regex", True)
        and not splits.get("add_prefix_space")
    )
    if not plain:
        raise ByheartError(
            "GGUF is written for GPT-2's byte-level tokenizers, and this one is another; "
            "llama.cpp would split texts differently."
        )


def _words(writer: Any, gguf: Any, model: Model, tokenizer: dict) -> None:
    """All tokens with their kinds, and the merges."""
    kinds, claim = gguf.TokenType, model.claim
    assert model.tokens is not None
    added = {x["content"]: bool(x.get("special")) for x in tokenizer.get("added_tokens") or ()}
    real = {*tokenizer["model"]["vocab"], *added}
    names = [x if isinstance(x, str) else f"<|unused {x}|>" for x in model.tokens]

    def kind(token: str) -> int:
        if token not in real:
            return kinds.UNUSED
        if token not in added:
            return kinds.NORMAL
        return kinds.CONTROL if added[token] else kinds.USER_DEFINED

    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(names)
    writer.add_token_types([kind(token) for token in names])
    merges = tokenizer["model"].get("merges") or []
    writer.add_token_merges([x if isinstance(x, str) else " ".join(x) for x in merges])
    end = model.places[claim.end]
    writer.add_bos_token_id(end)
    writer.add_eos_token_id(end)
    writer.add_add_bos_token(model.network.family.rms)


def _read_back(gguf: Any, file: Path, network: Checkpoint) -> None:
    """The file holds the tensors that were given, bit by bit."""
    found = {x.name: np.asarray(x.data) for x in gguf.GGUFReader(str(file)).tensors}
    wanted = tensors(network)
    same = found.keys() == wanted.keys()
    if not same or not all(np.array_equal(x, wanted[name]) for name, x in found.items()):
        raise AssertionError("the file holds other tensors")


def loaded(file: Path, network: Checkpoint) -> Runtime:
    """A file in llama.cpp as its users run it: greedy sampling, keys and values in float16."""
    server = llama_server(file, network.length)

    def says(tokens: NDArray) -> int:
        asked = {"prompt": tokens.tolist(), "max_tokens": 1, "temperature": 0.0, "logprobs": 1}
        answer = server.handle_completions({**asked, "cache_prompt": False})
        if "choices" not in answer:
            raise ByheartError(
                f"llama.cpp refuses a text of {len(tokens):,} tokens: "
                f"{answer['error']['message']!r}. It needs one place more than a text has tokens; "
                "compile with more places."
            )
        (first,) = answer["choices"][0]["logprobs"]["content"]
        return first["id"] if first["logprob"] is not None else -1  # a NaN is nobody's answer

    version = f"by xllamacpp {package(*LLAMA_CPP).__version__}"
    return Runtime("llama.cpp", version, "float32 weights, a float16 cache", says=says)


def llama_server(file: Path, length: int) -> Any:
    """llama.cpp's server in this process, for one short text at a time, in one thread."""
    library = package(*LLAMA_CPP)
    settings = library.CommonParams()
    settings.model.path = str(file)
    settings.n_ctx, settings.n_parallel = length, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.warmup, settings.verbosity, settings.cache_ram_mib = False, -1, 0
    return library.Server(settings)
