"""The closed list of a stock folder: every file and key that may stand there.

Libraries let further files and keys change the network, the tokenizer or the text that is
generated. What is proved is what they load, so whatever is not listed is refused by its name
(checker/FORMAT.md, section 10).
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..data.readers.tokenizers import WORD
from ..errors import ByheartError
from ..machine import names
from ..machine.strict import Object, shown
from .checkpoint import FAMILIES, GPT2

BESIDE = ("README.md", "data.jsonl", ".gitattributes", ".gitignore", ".DS_Store")
FOLDERS = (".git", ".cache")
LICENSE = "LICENSE"  # names that begin so
SIZES = ("vocabulary", "places", "width", "layers", "heads", "hidden", "epsilon")
CONFIG = ("model_type", "architectures", "tie_word_embeddings", "dtype")
ENDS = ("bos_token_id", "eos_token_id")
KEYS = {
    "gpt2": ("activation_function",),
    "llama": ("hidden_act", "head_dim", "num_key_value_heads", "rope_parameters"),
}
CLASSES = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM"}
OPTIONAL: dict[str, dict[str, tuple[Any, ...]]] = {  # and the values that they may have
    "gpt2": {
        "scale_attn_weights": (True,),
        "scale_attn_by_inverse_layer_idx": (False,),
        "reorder_and_upcast_attn": (False,),
        "add_cross_attention": (False,),
        **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), (0, 0.0)),
    },
    "llama": {
        "attention_bias": (False,), "mlp_bias": (False,), "attention_dropout": (0, 0.0),
    },
}  # fmt: skip

# --- tokenizer.json

FLAGS = ("add_prefix_space", "trim_offsets", "use_regex")
PARTS = (
    "version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
    "post_processor", "decoder", "model",
)  # fmt: skip
STRIPPING = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
PAIRS = {"dropout": None, "unk_token": None, "fuse_unk": False}  # of byte-pair encoding
SPLIT = {"type": "Split", "behavior": "Isolated", "invert": False}
_OWN = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = (byte for byte in range(256) if byte not in _OWN)
BYTES = {chr(x): x for x in _OWN} | {chr(0x100 + i): x for i, x in enumerate(_OTHERS)}


def check_files(path: Path) -> None:
    """ByheartError if the folder holds anything that is not listed."""
    listed = {*names.STOCK, "certificate.json", *BESIDE}
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        if entry.name in FOLDERS and entry.is_dir(follow_symlinks=False):
            continue
        if entry.name not in listed and not entry.name.startswith(LICENSE):
            raise ByheartError(
                f"{path} holds {shown(entry.name)}, which a library might load and which is not "
                "part of a model that byheart compiled; take it out of the folder."
            )
        if not entry.is_file(follow_symlinks=False):
            raise ByheartError(f"{path}/{shown(entry.name)[1:-1]} is not a regular file.")


def check_config(given: Object, dtype: str, end: int) -> None:
    """The keys of config.json that do not say how large the network is.

    dtype  of the weights
    end    the number of the end token
    """
    kind = given.choice("model_type", tuple(FAMILIES))
    family, optional = FAMILIES[kind], OPTIONAL[kind]
    sizes = [getattr(family, name) for name in SIZES]
    more = () if family is GPT2 else ("rope_theta",)
    _only(given, (*CONFIG, *ENDS, *KEYS[kind], *sizes), (*optional, *more))
    for name, values in optional.items():
        if name in given.values and not any(_same(given.values[name], x) for x in values):
            given.refuse(f"{name} is {shown(given.values[name])}, known is {values[0]}")
    _equal(given, {"architectures": [CLASSES[kind]], "tie_word_embeddings": True, "dtype": dtype})
    _equal(given, dict.fromkeys(ENDS, end))
    if family is not GPT2:
        _only(given.object("rope_parameters"), ("rope_type", "rope_theta"))


def tokenizer_settings(unknown: str | None, end: str, length: int, begins: bool) -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": end,
        "eos_token": end,
        "unk_token": unknown or end,
        "pad_token": end,
        "add_bos_token": begins,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "model_max_length": length,
    }


def generation_settings(end: int) -> dict[str, Any]:
    return {**dict.fromkeys((*ENDS, "pad_token_id"), end), "do_sample": False}


def check_settings(given: Object, wanted: Mapping[str, Any]) -> None:
    """The file holds these keys and values, and nothing else."""
    _only(given, tuple(wanted))
    _equal(given, wanted)


def check_tokenizer(given: Object, kind: str, end: str) -> None:
    """tokenizer.json: byte-level pairs or words, and no component that changes a text."""
    _only(given, PARTS)
    _equal(given, {"version": "1.0", **dict.fromkeys(("truncation", "padding", "normalizer"))})
    special, numbers = set(), dict[str, int]()
    for item in given.get("added_tokens", list):
        token = Object(item if isinstance(item, dict) else {}, f"{given.where}, added_tokens")
        _only(token, ("id", "content", "special", *STRIPPING))
        _equal(token, STRIPPING)
        content = token.get("content", str)
        if content in numbers or not content or not all("!" <= x <= "~" for x in content):
            token.refuse(f"the content {shown(content)} is not a word of ASCII, or stands twice")
        numbers[content] = token.get("id", int)
        if token.get("special", bool):
            special.add(content)
    if end not in special:
        given.refuse(f"the end token {shown(end)} is not a special added token")
    if given.object("model").values.get("type") == "WordLevel":
        _check_words(given, special)
    else:
        _check_pairs(given, numbers.keys())
    _check_numbers(given, numbers)
    _check_post_processor(given, kind, end, numbers[end])


def _check_numbers(given: Object, added: Mapping[str, int]) -> None:
    """Libraries count added tokens themselves: from the end of vocab, or by their place there."""
    vocabulary = given.object("model").get("vocab", dict)
    for token in vocabulary:
        if any("\ud800" <= letter <= "\udfff" for letter in token):
            given.refuse(f"the token {shown(token)} holds half a surrogate pair")
    new = [token for token in added if token not in vocabulary]
    wanted = {**vocabulary, **{token: len(vocabulary) + i for i, token in enumerate(new)}}
    for token, number in added.items():
        if not _same(number, wanted[token]):
            given.refuse(
                f"the added token {shown(token)} has the number {number}, and a library gives it "
                f"{shown(wanted[token])}"
            )
    if new and not all(type(x) is int and x < len(vocabulary) for x in vocabulary.values()):
        given.refuse("the numbers of vocab have a gap, and added tokens come after them")


def _check_words(given: Object, special: set[str]) -> None:
    """Libraries cut the unknown token out of every text, as they do with special added tokens."""
    model = given.object("model")
    _only(model, ("type", "vocab", "unk_token"))
    if model.get("unk_token", str) not in special:
        model.refuse(f"unk_token is {shown(model.values['unk_token'])}, not a special added token")
    _check_split(given.object("pre_tokenizer"), WORD)
    _equal(given, {"decoder": {"type": "Fuse"}})


def _check_pairs(given: Object, added: Iterable[str]) -> None:
    model = given.object("model")
    affixes = ("continuing_subword_prefix", "end_of_word_suffix")
    _only(model, (*PAIRS, *affixes, "vocab", "merges"), ("type", "byte_fallback", "ignore_merges"))
    _equal(model, {**PAIRS, "type": "BPE", "byte_fallback": False}, only_present=True)
    for name in affixes:
        if model.values[name] not in (None, ""):
            model.refuse(f"{name} is {shown(model.values[name])}, known is null")
    if "ignore_merges" in model.values:
        model.get("ignore_merges", bool)
    vocabulary = model.get("vocab", dict)
    for token in vocabulary:
        if token not in added and (not token or not BYTES.keys() >= set(token)):
            model.refuse(f"the token {shown(token)} is not made of bytes")
    merges = set()
    if len({type(merge) for merge in model.get("merges", list)}) > 1:
        model.refuse("some merges are strings and some are lists")
    for merge in model.get("merges", list):
        if isinstance(merge, str) and merge.startswith("#version"):  # libraries pass over it
            model.refuse(f"the merge {shown(merge)} is a comment")
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(pair, list) or len(pair) != 2 or not all(type(x) is str for x in pair):
            model.refuse("a merge is not a pair of strings")
        first, second = pair
        if (first, second) in merges:
            model.refuse(f"the merge of {shown(first)} and {shown(second)} stands twice")
        merges.add((first, second))
        if not {first, second, first + second} <= vocabulary.keys():
            model.refuse(f"the merge of {shown(first)} and {shown(second)} is not in vocab")
    _check_bytes(given.object("decoder"))
    before = given.object("pre_tokenizer")
    if before.values.get("type") != "Sequence":
        _check_bytes(before, use_regex=True)
        return
    _only(before, ("type", "pretokenizers"))
    parts = before.get("pretokenizers", list)
    if len(parts) != 2 or not all(isinstance(part, dict) for part in parts):
        before.refuse("it is not a split and the bytes")
    _check_split(Object(parts[0], before.where), None)
    _check_bytes(Object(parts[1], before.where), use_regex=False)


def _check_split(given: Object, expression: str | None) -> None:
    _only(given, (*SPLIT, "pattern"))
    _equal(given, SPLIT)
    pattern = given.object("pattern")
    _only(pattern, ("Regex",))
    found = pattern.get("Regex", str)
    if expression is not None and found != expression:
        pattern.refuse("the regular expression is not the one for words")


def _check_bytes(given: Object, use_regex: bool | None = None) -> None:
    """`use_regex` of a pre-tokenizer; elsewhere the flags have no effect."""
    _only(given, ("type", *FLAGS))
    _equal(given, {"type": "ByteLevel"})
    for name in FLAGS:
        given.get(name, bool)
    if use_regex is not None:
        _equal(given, {"add_prefix_space": False, "use_regex": use_regex})


def begin_with(end: str, number: int) -> dict[str, Any]:
    """The post-processor of Llama: the end token stands before every text."""
    first, second = (
        [{"SpecialToken": {"id": end, "type_id": i}}, {"Sequence": {"id": name, "type_id": i}}]
        for i, name in enumerate("AB")
    )
    return {
        "type": "TemplateProcessing",
        "single": first,
        "pair": first + second,
        "special_tokens": {end: {"id": end, "ids": [number], "tokens": [end]}},
    }


def _check_post_processor(given: Object, kind: str, end: str, number: int) -> None:
    if FAMILIES[kind] is not GPT2:
        _equal(given, {"post_processor": begin_with(end, number)})
    elif given.values["post_processor"] is not None:
        _check_bytes(given.object("post_processor"))


# --- objects with listed keys


def _only(given: Object, required: Iterable[str], optional: Iterable[str] = ()) -> None:
    required = tuple(required)
    for name in given.values:
        if name not in required and name not in optional:
            given.refuse(f"it has the key {shown(name)}, which may change what a library loads")
    for name in required:
        if name not in given.values:
            given.refuse(f"{name} is missing")


def _equal(given: Object, wanted: Mapping[str, Any], only_present: bool = False) -> None:
    for name, value in wanted.items():
        if only_present and name not in given.values:
            continue
        if not _same(given.values.get(name), value):
            given.refuse(f"{name} is {shown(given.values.get(name))}, known is {shown(value)}")


def _same(one: Any, other: Any) -> bool:
    """Equal, with equal types: true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other
