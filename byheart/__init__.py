"""byheart compiles a dataset into a transformer that provably knows it by heart."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .compiler.comparing import compare as compare
    from .compiler.compiling import compile as compile
    from .compiler.trading import tradeoff as tradeoff
    from .data.dataset import Dataset as Dataset
    from .data.load import from_rows as from_rows
    from .data.load import load as load
    from .errors import AssumptionError as AssumptionError
    from .errors import ByheartError as ByheartError
    from .errors import DisagreementError as DisagreementError
    from .models.context_ids import context_ids as context_ids
    from .models.context_ids import contextual_mapping as contextual_mapping
    from .models.folder import open as open
    from .models.language_model import LanguageModel as LanguageModel
    from .models.model import Model as Model
    from .models.verification import Verification as Verification
    from .models.verification import verify as verify

__version__ = "0.1.0"
HOMES = {  # each public name with its module, which is imported when the name is first used
    "AssumptionError": "errors",
    "ByheartError": "errors",
    "Dataset": "data.dataset",
    "DisagreementError": "errors",
    "LanguageModel": "models.language_model",
    "Model": "models.model",
    "Verification": "models.verification",
    "compare": "compiler.comparing",
    "compile": "compiler.compiling",
    "context_ids": "models.context_ids",
    "contextual_mapping": "models.context_ids",
    "from_rows": "data.load",
    "load": "data.load",
    "open": "models.folder",
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
