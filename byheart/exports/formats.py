"""What writes a model of each kind in each format, or why nothing does (formats.toml)."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ..claims.kind import Runtime
from ..errors import ByheartError, OptionError
from ..models.model import Model
from . import gguf_file, huggingface, onnx_graph, pytorch


@dataclass(frozen=True)
class Format:
    """How models of one kind are written in one format.

    write    files into a folder
    runtime  the model loaded from that folder
    use      how to use it, for README.md
    needs    the package that runs it, where an export without a run is allowed
    note     what there is to say about such an export
    """

    write: Callable[[Model, Path], None]
    runtime: Callable[[Model, Path], Runtime]
    use: str
    needs: str | None = None
    note: str | None = None


def _onnx(_: Model, folder: Path) -> Runtime:
    return onnx_graph.loaded(folder / "model.onnx")


def _gguf(model: Model, folder: Path) -> Runtime:
    return gguf_file.loaded(folder / "model.gguf", model.network)


WORDS = tomllib.loads(files(__package__).joinpath("formats.toml").read_text("utf-8"))
TARGETS = tuple(WORDS)
EXPORTS = {  # format and claim
    ("torch", "labels"): (pytorch.write_network, pytorch.runtime),
    ("torch", "distributions"): (pytorch.write_decoder, pytorch.runtime),
    ("onnx", "labels"): (onnx_graph.write_network, _onnx),
    ("onnx", "distributions"): (onnx_graph.write_decoder, _onnx),
    ("onnx", "recites"): (onnx_graph.write_checkpoint, _onnx),
    ("huggingface", "distributions"): (huggingface.write_decoder, huggingface.decoder_runtime),
    ("huggingface", "recites"): (huggingface.write_checkpoint, huggingface.checkpoint_runtime),
    ("gguf", "recites"): (gguf_file.write, _gguf),
}


def format_of(model: Model, to: str) -> Format:
    """How this model is exported; ByheartError with the reason if it is not."""
    if to not in TARGETS:
        raise OptionError("to", to, f"must be one of {', '.join(TARGETS)}")
    words = WORDS[to][model.claim.name]
    if "refusal" in words:
        raise ByheartError(words["refusal"])
    use = words["use"].format(opset=onnx_graph.OPSET)
    return Format(*EXPORTS[to, model.claim.name], **{**words, "use": use})
