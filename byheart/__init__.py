"""byheart compiles a dataset into a transformer that provably knows it by heart.

    >>> import byheart
    >>> data = byheart.Dataset.from_rows([(["capital", "of", "france"], "paris"),
    ...                                   (["capital", "of", "italy"], "rome")])
    >>> model = byheart.compile(data)            # the default construction for this kind of data
    >>> byheart.verify(model, data).evidence     # every sequence, in exact arithmetic
    'proved'
    >>> model.recall(["capital", "of", "italy"])
    'rome'
    >>> model.save("capitals.model")
    >>> byheart.open("capitals.model").parameters.nonzero == model.parameters.nonzero
    True

Data       load a file, a data frame, records or pairs; Dataset.from_rows takes tokens; stats
           counts contexts and conflicts, encoder says how close a model of dimension d can come
Models     compile builds and proves one, methods lists the constructions and their options,
           verify judges it on data, explain shows its stages, open reads its folder, export
           writes it for torch, ONNX, Hugging Face or llama.cpp;
           model.recall, .answers, .distribution, .continue_, .trace, .locate, .save
Changes    edit changes, adds and removes items of a model, forget removes them, diff says what
           differs between two models
Sizes      bounds says what theorems allow, compare lists every construction and bound,
           tradeoff trades parameters against bits per parameter
Theorems   check decides a statement of the papers on given numbers, data or a model
Checkpoints  audit measures how many bits of a file a trained checkpoint holds
Training   measure trains an architecture and finds the smallest that memorises (needs PyTorch)

Errors are ByheartError: one sentence that says what to do. AssumptionError names the hypothesis of
a theorem that fails, DisagreementError a folder that contradicts itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .architectures.bounding import Bounds as Bounds
    from .architectures.bounding import bounds as bounds
    from .auditing.answer import Audit as Audit
    from .auditing.audit import audit as audit
    from .compiler.checks import check as check
    from .compiler.comparing import compare as compare
    from .compiler.compiling import compile as compile
    from .compiler.editing import Change as Change
    from .compiler.editing import edit as edit
    from .compiler.editing import forget as forget
    from .compiler.explaining import explain as explain
    from .compiler.methods import methods as methods
    from .compiler.trading import tradeoff as tradeoff
    from .data.dataset import Dataset as Dataset
    from .data.load import from_rows as from_rows
    from .data.load import load as load
    from .data.statistics import Statistics as Statistics
    from .data.statistics import stats as stats
    from .encoders.curve import EncoderCurve as EncoderCurve
    from .encoders.curve import encoder as encoder
    from .errors import AssumptionError as AssumptionError
    from .errors import ByheartError as ByheartError
    from .errors import DisagreementError as DisagreementError
    from .exports.exporting import Export as Export
    from .exports.exporting import export as export
    from .lab.measuring import Measurement as Measurement
    from .lab.measuring import measure as measure
    from .machine.engines import Workers as Workers
    from .models.context_ids import context_ids as context_ids
    from .models.context_ids import contextual_mapping as contextual_mapping
    from .models.difference import Difference as Difference
    from .models.difference import diff as diff
    from .models.folder.read import open as open
    from .models.model import Model as Model
    from .models.verification import Verification as Verification
    from .models.verification import verify as verify

__version__ = "0.2.0"
HOMES = {  # each public name with its module, which is imported when the name is first used
    "AssumptionError": "errors",
    "Audit": "auditing.answer",
    "Bounds": "architectures.bounding",
    "ByheartError": "errors",
    "Change": "compiler.editing",
    "Dataset": "data.dataset",
    "Difference": "models.difference",
    "DisagreementError": "errors",
    "EncoderCurve": "encoders.curve",
    "Export": "exports.exporting",
    "Measurement": "lab.measuring",
    "Model": "models.model",
    "Statistics": "data.statistics",
    "Verification": "models.verification",
    "Workers": "machine.engines",
    "audit": "auditing.audit",
    "bounds": "architectures.bounding",
    "check": "compiler.checks",
    "compare": "compiler.comparing",
    "compile": "compiler.compiling",
    "context_ids": "models.context_ids",
    "contextual_mapping": "models.context_ids",
    "diff": "models.difference",
    "edit": "compiler.editing",
    "encoder": "encoders.curve",
    "explain": "compiler.explaining",
    "export": "exports.exporting",
    "forget": "compiler.editing",
    "from_rows": "data.load",
    "load": "data.load",
    "measure": "lab.measuring",
    "methods": "compiler.methods",
    "open": "models.folder.read",
    "stats": "data.statistics",
    "tradeoff": "compiler.trading",
    "verify": "models.verification",
}
__all__ = list(HOMES)


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
