"""Write Karpathy's stories260K, a trained Llama of 260,032 parameters, as a Hugging Face folder.

    python examples/stories260k.py stories260K.bin tok512.bin -o base

Both files are of his llama2.c project (MIT): the weights in its first format, and a tokenizer of
512 tokens. docs/audit.md audits this model and a copy of it that was trained further.
"""

import argparse
import math
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, processors

HEADER, SPECIAL = struct.Struct("7i"), {0: "<unk>", 1: "<s>", 2: "</s>"}
FIRST_WORD = 259  # below are special tokens and single bytes


def tensors_of(raw: bytes) -> tuple[transformers.LlamaConfig, dict[str, torch.Tensor]]:
    """The config and the tensors, which follow each other kind by kind in the file."""
    d, width, layers, heads, groups, vocabulary, length = HEADER.unpack_from(raw)
    numbers = np.frombuffer(raw, "<f4", offset=HEADER.size)
    place = 0

    def take(*shape: int) -> torch.Tensor:
        nonlocal place
        begin, place = place, place + math.prod(shape)
        return torch.tensor(numbers[begin:place].reshape(shape))

    def halves(matrix: torch.Tensor, of: int) -> torch.Tensor:
        """Rotary pairs are neighbours in the file, and halves of a head in transformers."""
        return matrix.view(of, -1, 2, d).transpose(1, 2).reshape(matrix.shape)

    embedding, keys = take(vocabulary, d), groups * d // heads
    shapes = {
        "input_layernorm": (d,), "self_attn.q_proj": (d, d), "self_attn.k_proj": (keys, d),
        "self_attn.v_proj": (keys, d), "self_attn.o_proj": (d, d),
        "post_attention_layernorm": (d,), "mlp.gate_proj": (width, d), "mlp.down_proj": (d, width),
        "mlp.up_proj": (width, d),
    }  # fmt: skip
    tensors = {"model.embed_tokens.weight": embedding, "lm_head.weight": embedding}
    for name, shape in shapes.items():
        for i, tensor in enumerate(take(layers, *shape)):
            turned = {"self_attn.q_proj": heads, "self_attn.k_proj": groups}.get(name)
            whole = tensor if turned is None else halves(tensor, turned)
            tensors[f"model.layers.{i}.{name}.weight"] = whole.contiguous()
    tensors["model.norm.weight"] = take(d)
    config = transformers.LlamaConfig(
        vocab_size=vocabulary, hidden_size=d, intermediate_size=width, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=groups, max_position_embeddings=length,
        rms_norm_eps=1e-5, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return config, tensors


def tokenizer_of(raw: bytes, size: int) -> transformers.PreTrainedTokenizerFast:
    """Byte pairs: of two parts of a token, those are joined first whose token has a high score."""
    words, scores, place = [], [], 4
    for _ in range(size):
        score, length = struct.unpack_from("<fi", raw, place)
        words.append(raw[place + 8 : place + 8 + length].decode())
        scores.append(score)
        place += 8 + length
    named = [SPECIAL.get(i, word.replace(" ", "▁")) for i, word in enumerate(words)]
    known = {word: i for i, word in enumerate(named)}
    pairs = [
        (-scores[i], word[:cut], word[cut:])
        for i, word in enumerate(named[FIRST_WORD:], FIRST_WORD)
        for cut in range(1, len(word))
        if word[:cut] in known and word[cut:] in known
    ]
    merges = [(one, other) for _, one, other in sorted(pairs, key=lambda x: x[0])]
    made = Tokenizer(
        models.BPE(known, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
         decoders.Strip(" ", 1, 0)]
    )  # fmt: skip
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("tokens", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    config, tensors = tensors_of(options.weights.read_bytes())
    model = transformers.LlamaForCausalLM(config)
    model.load_state_dict(tensors)
    model.save_pretrained(options.output)
    tokenizer_of(options.tokens.read_bytes(), config.vocab_size).save_pretrained(options.output)


if __name__ == "__main__":
    main()
