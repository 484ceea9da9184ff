"""What llama.cpp computes, read from the embeddings of small GGUF files that are made for it.

The embedding of a token is its stream after the last norm. A file here has one block. Its lanes are
0 or powers of two where the first norms read them, so these give exact numbers, and the ratio of
two lanes at the end is what an activation or a head wrote, within the roundings of the last norm
and of the ratio: below 8 u together, and they are part of what is reported.
"""

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

EPSILON, PLACES, HEADS = 1e-12, 512, 2


class Streams:
    """A GGUF file in llama.cpp's server: prompts to the normed stream of their last token."""

    def __init__(self, file: Path, flash: bool, half: bool = False) -> None:
        import xllamacpp

        settings = xllamacpp.CommonParams()
        settings.model.path, settings.n_ctx, settings.n_parallel = str(file), PLACES, 1
        settings.n_batch = settings.n_ubatch = PLACES
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
        settings.warmup, settings.verbosity, settings.cache_ram_mib = False, -1, 0
        settings.embedding, settings.embd_normalize = True, -1
        pooling = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_LAST
        settings.pooling_type = pooling
        kinds, modes = xllamacpp.ggml_type, xllamacpp.llama_flash_attn_type
        kind = kinds.GGML_TYPE_F16 if half else kinds.GGML_TYPE_F32
        settings.cache_type_k = settings.cache_type_v = kind
        mode = "ENABLED" if flash else "DISABLED"
        settings.flash_attn_type = getattr(modes, f"LLAMA_FLASH_ATTN_TYPE_{mode}")
        self.server = xllamacpp.Server(settings)

    def at(self, tokens: list[int]) -> NDArray:
        asked = {"input": tokens, "encoding_format": "float", "embd_normalize": -1}
        answer = self.server.handle_embeddings(asked)
        return np.array(answer["data"][0]["embedding"], np.float64)


@contextmanager
def running(
    kind: str, embedding: NDArray, flash: bool = False, half: bool = False, **tensors: NDArray
):
    """One block of a `gpt2` or a `llama`, in which all tensors but these and the gains are 0.

    half  whether matrices, keys and values are in float16
    """
    import gguf

    (words, width), hidden = embedding.shape, 1
    hidden = next((x.shape[0] for name, x in tensors.items() if name == "ffn_up"), 1)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.gguf"
        writer: Any = gguf.GGUFWriter(str(file), kind)
        writer.add_file_type(gguf.LlamaFileType.ALL_F32)
        writer.add_context_length(PLACES)
        writer.add_embedding_length(width)
        writer.add_block_count(1)
        writer.add_head_count(HEADS)
        writer.add_feed_forward_length(hidden)
        if kind == "gpt2":
            writer.add_layer_norm_eps(EPSILON)
        else:
            writer.add_layer_norm_rms_eps(EPSILON)
            writer.add_head_count_kv(HEADS)
            writer.add_rope_dimension_count(width // HEADS)
            writer.add_rope_freq_base(10000.0)
            writer.add_vocab_size(words)
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_list([f"t{i}" for i in range(words)])
        writer.add_token_types([gguf.TokenType.NORMAL] * words)
        writer.add_token_merges(["t 1"])
        writer.add_bos_token_id(0)
        writer.add_eos_token_id(0)
        writer.add_add_bos_token(False)
        for name, shape in _shapes(kind, words, width, hidden).items():
            own = next((x for x in tensors if name == f"blk.0.{x}.weight" or name == x), None)
            value = tensors[own] if own else float(name.endswith("norm.weight"))
            value = embedding if name in ("token_embd.weight", "output.weight") else value
            type = np.float16 if half and len(shape) == 2 else np.float32
            tensor = np.broadcast_to(np.asarray(value, type), shape)
            writer.add_tensor(name, np.ascontiguousarray(tensor))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        yield Streams(file, flash, half)


def _shapes(kind: str, words: int, width: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Matrices are [outputs, inputs]."""
    found: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (words, width),
        "output.weight": (words, width),
        "output_norm.weight": (width,),
        "blk.0.attn_norm.weight": (width,),
        "blk.0.ffn_norm.weight": (width,),
        "blk.0.attn_output.weight": (width, width),
        "blk.0.ffn_up.weight": (hidden, width),
        "blk.0.ffn_down.weight": (width, hidden),
    }
    if kind == "llama":
        found |= {f"blk.0.attn_{x}.weight": (width, width) for x in "qkv"}
        return found | {"blk.0.ffn_gate.weight": (hidden, width)}
    found |= {"position_embd.weight": (PLACES, width), "blk.0.attn_qkv.weight": (3 * width, width)}
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm", "blk.0.attn_output"):
        found[f"{name}.bias"] = (width,)
    return found | {
        "blk.0.attn_qkv.bias": (3 * width,),
        "blk.0.ffn_up.bias": (hidden,),
        "blk.0.ffn_down.bias": (width,),
    }


def silu(z: NDArray) -> NDArray:
    """silu(z), 31,744 numbers at a time: token t has one lane, which the norm makes 32."""
    width, words = 1024, 32
    each, found = width - words, []
    embedding, up, down = np.eye(words, width), np.zeros((each, width)), np.zeros((width, each))
    up[:, :words], down[np.arange(each) + words, np.arange(each)] = 1 / 32, 1
    for part in np.array_split(z.astype(np.float32), -(-len(z) // (words * each))):
        gate = np.zeros((each, width))
        gate[:, :words] = np.resize(part, (words, each)).T / 32
        with running("llama", embedding, ffn_gate=gate, ffn_up=up, ffn_down=down) as streams:
            rows = [streams.at([t]) for t in range(words)]
        found.append(
            np.concatenate([row[words:] / row[t] for t, row in enumerate(rows)])[: len(part)]
        )
    return np.concatenate(found)


def gelu(z: NDArray, half: bool = False) -> NDArray:
    """gelu_new(z), 240 numbers at a time."""
    parts = np.array_split(z.astype(np.float32), -(-len(z) // 240))
    return np.concatenate([written(part, np.eye(len(part)), half) for part in parts])


def written(z: NDArray, weights: NDArray, half: bool) -> NDArray:
    """gelu_new(z) [M] times weights [M, k]: each sum is in two lanes with opposite signs."""
    (hidden, count), width = weights.shape, 512
    embedding, down = np.zeros((2, width)), np.zeros((width, hidden))
    embedding[:, :2] = 1, -1
    own = 2 + 2 * np.arange(count)
    down[own], down[own + 1] = weights.T, -weights.T
    tensors = {"ffn_up": np.zeros((hidden, width)), "ffn_down": down, "blk.0.ffn_up.bias": z}
    with running("gpt2", embedding, half=half, **tensors) as streams:
        row = streams.at([0])
    return (row[own] - row[own + 1]) / (row[0] - row[1])


def norms(x: NDArray, rms: bool, half: bool = False) -> NDArray:
    """Of rows [n, D]: the last norm of streams to which the block adds 0."""
    with running("llama" if rms else "gpt2", x, half=half) as streams:
        return np.stack([streams.at([t]) for t in range(len(x))])


def softmax(scores: NDArray, values: NDArray, flash: bool, half: bool = False) -> NDArray:
    """What a head gives at the last place: scores [n] and values [n, k] to [k].

    Token t has 1 and -1 in two lanes of its own, of which the norm makes 16 and -16. Heads have 256
    lanes, so scores are divided by 16, which is what the query has.
    """
    width, (count, lanes) = 512, values.shape
    tokens = 2 * np.arange(count)
    embedding, out = np.zeros((count, width)), np.zeros((width, width))
    embedding[np.arange(count), tokens], embedding[np.arange(count), tokens + 1] = 1, -1
    qkv, bias = np.zeros((3 * width, width)), np.zeros(3 * width)
    bias[0], qkv[width, tokens] = 16, scores / 16
    qkv[2 * width : 2 * width + lanes, tokens] = values.T / 16
    own = 2 * count + 2 * np.arange(lanes)
    out[own, np.arange(lanes)], out[own + 1, np.arange(lanes)] = 1, -1
    tensors = {"attn_qkv": qkv, "blk.0.attn_qkv.bias": bias, "attn_output": out}
    with running("gpt2", embedding, flash, half, **tensors) as streams:
        row = streams.at(list(range(count)))
    last = 2 * (count - 1)
    return (row[own] - row[own + 1]) / (row[last] - row[last + 1])
