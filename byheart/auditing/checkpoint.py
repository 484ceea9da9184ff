"""A Hugging Face folder on disk as a causal language model; nothing is downloaded or executed.

A folder comes from anywhere: weights are read from safetensors alone, whatever would redirect them
is refused (`closed`), code that comes with a model is not run, and a model is refused unless every
tensor that its config.json describes is there.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.readers.tokenizers import check_prefix, failing
from ..errors import ByheartError
from ..machine.installing import remedy
from ..machine.memory import require
from ..machine.names import MAGIC
from ..models.opening import open as open_model
from . import closed
from .adapters import AuditedAdapter, added, is_adapter, refuse_bare
from .closed import CERTIFICATE, CONFIG, WeightsFile

TOKENIZERS = ("tokenizer.json", "vocab.json", "vocab.txt", "tokenizer.model", "spiece.model")
LAYERS = 1_000
CHUNK = 1 << 18  # logits that are converted or normalised at one time
LENGTHS = ("n_positions", "max_position_embeddings", "n_ctx", "max_seq_len")
NEEDS = f"an audit of a checkpoint needs transformers: {remedy('huggingface')}."


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A model that predicts the next token."""

    folder: Path  # where it was read
    kind: str  # the architecture, by the name that config.json has for it: "gpt2", "llama", ...
    parameters: int  # every tied one counted once
    stored_bits: int  # of them, in the number type that was loaded
    dtype: str  # that type; several are joined by commas
    weights: tuple[WeightsFile, ...]
    unread: tuple[str, ...]  # files beside them that look like weights or code
    code: tuple[str, ...]  # classes that its configs name, and that are not loaded
    vocabulary: int  # how many tokens it can predict
    limit: int | None  # the most tokens that it reads; None if config.json does not say
    model: Any
    device: str
    adapter: AuditedAdapter | None = None  # that was added

    def memory(self, batch: int) -> int:
        """Bytes of a batch of this many tokens, rather too many: logits, and what goes before."""
        config = self.model.config
        size = getattr(config, "hidden_size", 0) or 0
        heads = getattr(config, "num_attention_heads", 0) or 0
        length = min(batch, self.limit or batch)
        width = getattr(config, "intermediate_size", None) or getattr(config, "n_inner", None)
        each = 2 * self.vocabulary + 8 * size + 3 * (width or 4 * size) + 2 * heads * length
        return 4 * batch * each

    def score(self, rows: NDArray[np.int64]) -> "Judged":
        """[k, L - 1] bits of every token after the first, whether it is the likeliest one, and its
        place: how far its log-probability lies from the mean of all tokens', in deviations.

        A causal model reads nothing behind a token, so rows may be filled up at the end.
        """
        import torch

        ids = torch.from_numpy(rows).to(self.device)
        with torch.inference_mode():
            logits = self.model(input_ids=ids[:, :-1], use_cache=False).logits.flatten(0, 1)
            following, size = ids[:, 1:].flatten(), max(1, CHUNK // logits.shape[1])
            judge = judged_here if logits.device.type == "cpu" else judged_there
            starts = range(0, len(logits), size)
            parts = [judge(logits[a : a + size], following[a : a + size]) for a in starts]
        nats, hits, places = (np.concatenate(some) for some in zip(*parts, strict=True))
        if not np.isfinite(nats).all():
            raise ByheartError(
                f"{self.folder}: the model gives a token no probability that is a number; its "
                "weights overflow in this number type."
            )
        found = (nats / math.log(2), hits, places)
        return tuple(x.reshape(len(rows), -1) for x in found)  # type: ignore[return-value]

    @cached_property
    def tokenizer(self) -> Any:
        """What splits a text; ByheartError if the folder has none."""
        from transformers import AutoTokenizer

        if not any((self.folder / name).is_file() for name in TOKENIZERS):
            raise ByheartError(
                f"{self.folder} has no tokenizer, and text needs one; copy its tokenizer.json "
                "there, or give token ids (.bin, .npz)."
            )

        def unread(error: BaseException) -> str:
            return (
                f"the tokenizer of {self.folder} cannot be read ({_short(error)}), and text needs "
                "it; copy its tokenizer.json there, or give token ids (.bin, .npz)."
            )

        with failing(unread):  # in many ways, depending on what is missing
            if (self.folder / "tokenizer.json").is_file():
                check_prefix((self.folder / "tokenizer.json").read_text("utf-8"))
            local: Any = {"local_files_only": True, "trust_remote_code": False}
            return AutoTokenizer.from_pretrained(str(self.folder), **local)

    @cached_property
    def opening(self) -> list[int]:
        """The special tokens that the tokenizer puts before a text: Llama reads one first.

        A model that was trained with it knows little without it.
        """
        plain, whole = (
            list(self.tokenizer("a", add_special_tokens=special)["input_ids"])
            for special in (False, True)
        )
        places = range(len(whole) - len(plain) + 1)
        first = next((i for i in places if whole[i : i + len(plain)] == plain), 0)
        return [int(token) for token in whole[:first]]

    def tokens(self, texts: Sequence[str]) -> tuple[list[list[int]], int]:
        """The token ids of texts, without special tokens around them; and how many of the texts
        are not what their tokens make up, apart from outer white space."""
        rows = self.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        unknown = getattr(self.tokenizer, "unk_token_id", None)
        if all(token == unknown for ids in rows for token in ids):
            raise ByheartError(
                f"the data has no token in the vocabulary of {self.folder}: its tokenizer splits "
                "none of the text into tokens that it knows."
            )
        found = [list(map(int, ids)) for ids in rows]
        made = (self.tokenizer.decode(ids, clean_up_tokenization_spaces=False) for ids in found)
        wrong = sum(x.strip() != y.strip() for x, y in zip(texts, made, strict=True))
        return found, wrong


Judged = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]


def judged_here(logits: Any, following: Any) -> Judged:
    """[k] the nats of the token that follows, whether it is the likeliest, and its place; here.

    It takes a third of the time of `judged_there`, which is left to judge logits that are infinite:
    a token that the model never gives has minus infinity.
    """
    from ..lab.learners.kernels.code_lengths import code_lengths, finite

    single = logits.float().contiguous()
    flat = single.view(-1).numpy()
    if not finite(flat.view(np.uint32)):
        return judged_there(single, following)
    nats, hits, places = np.empty(len(logits)), np.empty(len(logits), bool), np.empty(len(logits))
    code_lengths(flat, following.contiguous().numpy(), nats, hits, places)
    return nats, hits, places


def judged_there(logits: Any, following: Any) -> Judged:
    """The same by PyTorch, on any device."""
    best = logits.argmax(-1) == following  # the first of equal logits, as in greedy decoding
    logs = logits.float().log_softmax(-1).double()
    own, chances = logs.gather(1, following[:, None])[:, 0], logs.exp()
    mean = (chances * logs.clamp(min=-1e30)).sum(-1)  # what has no probability adds nothing
    square = (chances * logs.clamp(min=-1e30) ** 2).sum(-1)
    places = (own - mean) / (square - mean**2).clamp(min=1e-12).sqrt()
    return -own.cpu().numpy(), best.cpu().numpy(), places.cpu().numpy()


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder holds something else than a byheart model; a packed one is a file."""
    if folder.is_file():
        with open(folder, "rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return False
    return _config(folder).get("format") != "byheart-model"


def readable(folder: Path) -> bool:
    """Whether a folder holds a checkpoint, or an adapter for one."""
    return is_adapter(folder) or is_checkpoint(folder)


def opened(name: str | Path, device: str = "cpu", adapter: str | Path | None = None) -> Checkpoint:
    """The model of a folder; ByheartError says what is missing or cannot be trusted.

    adapter  the folder of a LoRA adapter, which is added to its weights
    """
    folder = Path(name)
    config = _config(folder)
    if os.path.lexists(folder / CERTIFICATE) and not closed.is_taught(folder):
        open_model(folder)  # compiled: the same closed list as in `verify`
    code = closed.check(folder, config)
    weights = closed.weights_of(folder)
    size = sum(path.stat().st_size for path in weights)
    require(2 * size, str(folder), "loading the weights", "use a machine with more memory")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import torch
        import transformers
    except ImportError:
        raise ByheartError(NEEDS) from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    kind = config.get("model_type")
    known = transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if not isinstance(kind, str) or kind not in known:
        what = "names no model_type" if kind is None else f"is of the model_type {str(kind)[:40]!r}"
        raise ByheartError(
            f"{folder / CONFIG} {what}, which transformers {transformers.__version__} does not "
            "load as a causal language model; code that comes with a model is not run."
        )
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise ByheartError(f"there is no device {device!r} here; use `device='cpu'`.") from None
    closed.check_quantisation(folder, config)
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        described = transformers.AutoConfig.from_pretrained(str(folder), **local)
        layers = getattr(described, "num_hidden_layers", 1)
        if not isinstance(layers, int) or not 0 <= layers <= LAYERS:
            raise ByheartError(f"{folder / CONFIG}: a model has at most {LAYERS:,} layers.")
        with torch.device("meta"):
            shape = transformers.AutoModelForCausalLM.from_config(described)
        numbers = sum(x.numel() for x in shape.parameters())
        if numbers > 4 * size:  # the shortest number types here have 4 bits, and may be tied
            raise ByheartError(
                f"{folder / CONFIG} describes {numbers:,} parameters, and the files have only "
                f"{size:,} bytes."
            )
        local |= {"use_safetensors": True, "dtype": "auto", "output_loading_info": True}
        model, info = transformers.AutoModelForCausalLM.from_pretrained(str(folder), **local)
    except ByheartError:
        raise
    except Exception as error:  # whatever a damaged file makes of a library
        raise ByheartError(f"{folder} cannot be loaded: {_short(error)}.") from None
    missing = sorted(info["missing_keys"]) + sorted(str(x) for x in info.get("mismatched_keys", ()))
    if missing:
        raise ByheartError(
            f"{folder} lacks {len(missing):,} of the tensors that its {CONFIG} describes, the "
            f"first is {missing[0][:80]}; a model with random numbers in their place says nothing."
        )
    also = None if adapter is None else added(model, Path(adapter))
    for own, tensor in model.named_parameters():
        if not bool(torch.isfinite(tensor).all()):
            raise ByheartError(f"{folder}: the tensor {own[:80]} holds infinity or NaN.")
    model = model.eval().to(chosen)
    every = list(model.parameters())
    limits = [getattr(described, name, None) for name in LENGTHS]
    return Checkpoint(
        folder,
        kind,
        sum(x.numel() for x in every),
        sum(x.numel() * x.element_size() * 8 for x in every),
        ", ".join(sorted({str(x.dtype).removeprefix("torch.") for x in every})),
        closed.hashed(weights),
        closed.unread(folder, weights),
        code,
        int(model.get_output_embeddings().weight.shape[0]),
        next((x for x in limits if isinstance(x, int) and x > 0), None),
        model,
        device,
        also,
    )


def _config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not folder.is_dir():
        word = "is not a directory" if folder.exists() else "does not exist"
        raise ByheartError(f"{folder} {word}; give the folder of a model on this disk.")
    refuse_bare(folder, "audit BASE DATA --adapter {adapter}")
    if not path.is_file():
        raise ByheartError(
            f"{folder} has no {CONFIG}; give a Hugging Face folder or a byheart model folder."
        )
    return closed.json_object(path)


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " ".join(lines[0].split())[:160].rstrip(".")
