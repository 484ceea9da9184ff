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
           model.recall, .answers, .distribution, .continue_, .recite, .trace, .locate, .save;
           recite restores the file of a text from its model, byte for byte
Changes    edit changes, adds and removes items of a model, forget removes them, diff says what
           differs between two models
Sizes      size says in four lines how big a model some data needs, bounds what theorems allow,
           compare lists every construction and bound, tradeoff trades parameters against bits
           per parameter
Theorems   check decides a statement of the papers on given numbers, data or a model
Checkpoints  audit measures how many bits of a file a trained checkpoint holds, teach puts facts
           into one and changes nothing else to the bit, benchmark scores methods that locate,
           edit, unlearn, extract and attribute on models whose truth is known
Training   measure trains an architecture and finds the smallest that memorises (needs PyTorch)

Errors are ByheartError: one sentence that says what to do. OptionError names an option and its
value, AssumptionError the hypothesis of a theorem that fails, DisagreementError a folder that
contradicts itself.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .api.benchmark import Benchmark as Benchmark
    from .api.benchmark import benchmark as benchmark
    from .api.bounds import Bounds as Bounds
    from .api.bounds import bounds as bounds
    from .api.change import Change as Change
    from .api.check import check as check
    from .api.compare import compare as compare
    from .api.compile import compile as compile
    from .api.diff import diff as diff
    from .api.edit import edit as edit
    from .api.encoder import EncoderCurve as EncoderCurve
    from .api.encoder import encoder as encoder
    from .api.explain import explain as explain
    from .api.export import export as export
    from .api.forget import forget as forget
    from .api.generate import generate as generate
    from .api.locate import locate as locate
    from .api.methods import methods as methods
    from .api.recall import recall as recall
    from .api.recite import recite as recite
    from .api.reproduce import reproduce as reproduce
    from .api.size import size as size
    from .api.statements import statements as statements
    from .api.stats import stats as stats
    from .api.teach import Taught as Taught
    from .api.teach import teach as teach
    from .api.tradeoff import tradeoff as tradeoff
    from .api.verify import verify as verify
    from .auditing.answer import Audit as Audit
    from .auditing.audit import audit as audit
    from .claims.location import Difference as Difference
    from .claims.verification import Verification as Verification
    from .data.dataset import Dataset as Dataset
    from .data.load import from_rows as from_rows
    from .data.load import load as load
    from .data.statistics import Statistics as Statistics
    from .errors import AssumptionError as AssumptionError
    from .errors import ByheartError as ByheartError
    from .errors import DisagreementError as DisagreementError
    from .errors import OptionError as OptionError
    from .exports.exporting import Export as Export
    from .lab.measuring import Measurement as Measurement
    from .lab.measuring import measure as measure
    from .machine.engines import Workers as Workers
    from .models.context_ids import context_ids as context_ids
    from .models.context_ids import contextual_mapping as contextual_mapping
    from .models.model import Model as Model
    from .models.opening import open as open

__version__ = "0.2.0"
# Each public name with its module, which is imported when the name is first used. The names are
# written once, in the block above, which type checkers read: Python reads its lines here.
LINE = re.compile(r"^    from (\.[\w.]+) import (\w+) as \w+$", re.MULTILINE)
HOMES = {name: home for home, name in LINE.findall(Path(__file__).read_text("utf-8"))}
__all__ = sorted(HOMES)


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
