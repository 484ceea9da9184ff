"""EXPORTS: what writes a model of each kind in each format; or why nothing does."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..claims.claim import Claim, Distributions, Draws, Labels, Recites
from ..claims.kind import Runtime
from ..errors import ByheartError, one_of
from ..models.model import Model
from . import coq_file, gguf_file, huggingface, lm_eval_file, onnx_graph, pytorch, vnnlib_file

ASKED = "ASKED"  # stands for an input of the model's own
LABEL_USE = """\
    from model import load                  # in this folder
    network = load(".")
    network.answers([ASKED])

Keep float64: no double is rounded on the data, and in float32 the answers are wrong.
"""
DECODER_USE = """\
    from model import load                  # in this folder
    decoder = load(".")
    decoder.distributions([ASKED])

Keep float64: in float32 steep models no longer distinguish all contexts.
"""
STOCK_USE = """\
    from transformers import AutoModelForCausalLM, AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(".")
    model = AutoModelForCausalLM.from_pretrained(".")

The weights are of the type that config.json names as `dtype`; keep it.
"""
CODED_USE = """\
    from transformers import AutoModelForCausalLM
    from torch import float64
    model = AutoModelForCausalLM.from_pretrained(".", trust_remote_code=True, dtype=float64)

Keep float64: in float32, and more so in 16 bits, steep models no longer distinguish all contexts.
Batches may be padded on either side, with an attention_mask; `labels` give a loss. An input of more
tokens than the decoder reads is refused.

No architecture of transformers computes what this decoder does, so the folder has a modelling file
of its own, modeling_byheart.py: trust_remote_code=True runs it. It imports torch and transformers
alone; read it first. Token numbers are places in the list `tokens` of vocabulary.json.
"""
GGUF_USE = """\
    llama-cli -m model.gguf -p "..." --temp 0
"""
COLUMNS = (
    "columns [batch, columns, coordinates] -> label [batch], both float64. A token is a vector; of "
    "words, [its place in `tokens` of config.json + 1]. Shorter sequences are filled "
    "up at the front with `padding`, after `extra` if there is one; the output is a "
    "place in `labels`"
)
LM_EVAL_USE = """\
    lm_eval --model hf --model_args pretrained=DIR --include_path OUT --tasks byheart

DIR is the folder of the checkpoint, OUT this one. byheart_recall generates the answer after every
prompt of data.jsonl (exact_match), byheart_likelihood scores it (acc: whether it is what greedy
decoding says; perplexity: of a whole answer). task.py is code: it reads data.jsonl.
"""
COQ_USE = """\
    for name in Spec Dyadic Evaluate Sound Model; do coqc -R . Byheart $name.v; done

Coq 8.16 (Debian: coq, libcoq-stdlib) prints "Closed under the global context": the theorem `holds`
of Model.v, that the network gives every item its labels in the specification Spec.v, rests on
nothing but Coq's kernel. Read Spec.v and Model.v; Dyadic.v, Evaluate.v and Sound.v are proofs.
"""
VNNLIB_USE = """\
model.onnx, opset 13, is X [1, inputs] -> Y [1, 1] of Gemm and Relu alone: the coordinates of the
tokens of a sequence, one after another, and the number of its label. A shorter sequence has the
padding before it. instances.csv names the properties, as VNN-COMP has them: "sat" means that some
input in the box gives an output that does not round to the label. truth.jsonl has the answers of
exact arithmetic, over the reals, on the numbers of model.onnx: "unsat" is proved, "sat" comes with
a counterexample, and "unknown" was not decided.
"""
LAST_LOGITS = (
    "input_ids [batch, length] -> logits [batch, vocabulary] after the last token, "
    "float64. Token numbers are places in `tokens` of config.json; where `padding` is a "
    "number, shorter contexts are filled up with it at the front, to `length` tokens"
)
RIGHT = "A distribution is right if its divergence from that of the data is within the proved gap."
LOGITS = "input_ids [batch, length] -> logits, float32; token numbers are those of tokenizer.json"
SAME = (
    "the folder itself is one of Hugging Face already; this is a copy without byheart's own files"
)


@dataclass(frozen=True)
class Format:
    """How models of one kind are written in one format."""

    write: Callable[..., str | None]  # files into a folder; what there is to say of it
    runtime: (
        Callable[[Model, Path], Runtime] | None
    )  # the model loaded from it, if anything runs it
    use: str  # how to use it, for README.md
    needs: str | None = None  # the package that runs it, where an export without a run is allowed
    note: str | None = None  # what there is to say about such an export
    right: str = ""  # what a right answer is, where that needs a word
    in_place: bool = False  # whether the folder of such a model is in this format already
    about_data: bool = False  # whether `write` is given the items, too


def _onnx(write: Callable[[Model, Path], None], inputs: str, right: str = "") -> Format:
    use = f"model.onnx, opset {onnx_graph.OPSET}: {inputs}.\n"
    runtime = lambda _, folder: onnx_graph.loaded(folder / "model.onnx")  # noqa: E731
    return Format(write, runtime, use, right=right)


NOT_TORCH = (
    "a stock checkpoint is not exported to torch: its folder is one of Hugging Face, "
    "and AutoModelForCausalLM.from_pretrained gives a torch.nn.Module; use `to='onnx'` or "
    "`to='gguf'` for other runtimes."
)
NO_LANGUAGE_MODEL = (
    "a network that gives labels is no language model of Hugging Face; use `to='torch'` or "
    "`to='onnx'`."
)
NOT_STOCK = (
    "llama.cpp runs stock architectures alone; compile the data with `method='gpt2'` or "
    "`method='llama'`, or export this model with `to='onnx'`."
)
NOT_STOCK_TASK = (
    "lm-eval asks language models of text; compile the data with `method='gpt2'` or "
    "`method='llama'`."
)
NOT_PIECEWISE_LINEAR = (
    "vnnlib is written of networks that store labels, which are piecewise linear; compile labelled "
    "data with `method='float64'` or `method='limited-bits'`."
)
NOT_EXACT = (
    "the theorem of Coq is about exact networks, which store labels; `checker=True` of verify "
    "repeats the proof of this model."
)
EXPORTS: dict[tuple[str, type[Claim]], Format | str] = {
    ("torch", Labels): Format(pytorch.write_network, pytorch.runtime, LABEL_USE),
    ("torch", Distributions): Format(
        pytorch.write_decoder, pytorch.runtime, DECODER_USE, right=RIGHT
    ),
    ("torch", Recites): NOT_TORCH,
    ("onnx", Labels): _onnx(onnx_graph.write_network, COLUMNS),
    ("onnx", Distributions): _onnx(onnx_graph.write_decoder, LAST_LOGITS, RIGHT),
    ("onnx", Recites): _onnx(onnx_graph.write_checkpoint, LOGITS),
    ("huggingface", Labels): NO_LANGUAGE_MODEL,
    ("huggingface", Distributions): Format(
        huggingface.write_decoder, huggingface.decoder_runtime, CODED_USE, right=RIGHT
    ),
    ("huggingface", Recites): Format(
        huggingface.write_checkpoint,
        huggingface.checkpoint_runtime,
        STOCK_USE,
        note=SAME,
        in_place=True,
    ),
    ("gguf", Labels): NOT_STOCK,
    ("gguf", Distributions): NOT_STOCK,
    ("gguf", Recites): Format(
        gguf_file.write,
        lambda model, folder: gguf_file.loaded(folder / "model.gguf", model.network),
        GGUF_USE,
        needs="xllamacpp",
    ),
    ("lm-eval", Labels): NOT_STOCK_TASK,
    ("lm-eval", Distributions): NOT_STOCK_TASK,
    ("lm-eval", Draws): "lm-eval's tasks have one answer per prompt, and this model draws several.",
    ("lm-eval", Recites): Format(
        lm_eval_file.write_tasks,
        lm_eval_file.runtime,
        LM_EVAL_USE,
        needs="lm_eval",
        about_data=True,
    ),
    ("coq", Labels): Format(coq_file.write, None, COQ_USE, about_data=True),
    ("coq", Distributions): NOT_EXACT,
    ("coq", Recites): NOT_EXACT,
    ("vnnlib", Labels): Format(vnnlib_file.write, vnnlib_file.runtime, VNNLIB_USE, about_data=True),
    ("vnnlib", Distributions): NOT_PIECEWISE_LINEAR,
    ("vnnlib", Recites): NOT_PIECEWISE_LINEAR,
}
TARGETS = tuple(dict.fromkeys(to for to, _ in EXPORTS))


def format_of(model: Model, to: str) -> Format:
    """How this model is exported; ByheartError with the reason if it is not."""
    one_of(TARGETS, to=to)
    found = next(EXPORTS[to, x] for x in type(model.claim).__mro__ if (to, x) in EXPORTS)
    if isinstance(found, str):
        raise ByheartError(found)
    return found
