"""README.md of an export: what the files are, how to use them, and what was observed."""

from ..models.claims import Labels
from ..models.model import Model
from ..models.verification import Verification
from .judging import Runtime
from .onnx_graph import OPSET

LABEL_USE = """\
    from model import load                  # in this folder
    network = load(".")
    network.answers([["capital", "of", "italy"]])
"""
DECODER_USE = """\
    from model import load                  # in this folder
    decoder = load(".")
    decoder.distributions([["a", "b"]])
"""
STOCK_USE = """\
    from transformers import AutoModelForCausalLM, AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(".")
    model = AutoModelForCausalLM.from_pretrained(".")
"""
CODED_USE = """\
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(".", trust_remote_code=True)

No architecture of transformers computes what this decoder does, so the folder has a modelling file
of its own, modeling_byheart.py: trust_remote_code=True runs it. It imports torch and transformers
alone; read it first. Token numbers are places in the list `tokens` of vocabulary.json.
"""
GGUF_USE = """\
    llama-cli -m model.gguf -p "..." --temp 0
"""


def card(
    model: Model, to: str, ran: Runtime | None, found: Verification | None, stock: bool
) -> str:
    """The text of README.md."""
    labels = isinstance(model.claim, Labels)
    inputs = "input_ids [batch, length] -> logits, float32; token numbers are those of "
    inputs += "tokenizer.json"
    if labels:
        inputs = (
            "columns [batch, columns, coordinates] -> label [batch], both float64. A word is "
            "the vector [its place in `tokens` of config.json + 1]; shorter sequences are filled "
            "up at the front with `padding`, after `extra` if there is one; the output is a "
            "place in `labels`"
        )
    elif not stock:
        inputs = (
            "input_ids [batch, length] -> logits [batch, vocabulary] after the last token, "
            "float64. Token numbers are places in `tokens` of config.json; where `padding` is a "
            "number, shorter contexts are filled up with it at the front, to `length` tokens"
        )
    use = {
        "torch": LABEL_USE if labels else DECODER_USE,
        "onnx": f"model.onnx, opset {OPSET}: {inputs}.\n",
        "huggingface": STOCK_USE if stock else CODED_USE,
        "gguf": GGUF_USE,
    }[to]
    evidence = "It was not run on its data when it was exported."
    if found is not None and ran is not None:
        evidence = (
            f"Observed when it was exported: {found.correct:,} of {found.checked:,} "
            f"{'predictions' if stock else model.claim.noun} right in {ran.sentence}. "
            "That is a run, not a proof."
        )
    return (
        f"# A model that byheart compiled and exported to {to}\n\n"
        f"Method {model.about.get('method')}. {evidence}\n\n{use}"
    )
