"""byheart compiles a dataset into a transformer that provably knows it by heart."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .certificate import Verification as Verification
    from .certificate import verify as verify
    from .compile import compile as compile
    from .dataset import Dataset as Dataset
    from .errors import AssumptionError as AssumptionError
    from .errors import ByheartError as ByheartError
    from .folder import open as open
    from .load import from_rows as from_rows
    from .load import load as load
    from .model import Model as Model

__version__ = "0.1.0"

_HOMES = {
    "AssumptionError": "errors",
    "ByheartError": "errors",
    "Dataset": "dataset",
    "Model": "model",
    "Verification": "certificate",
    "compile": "compile",
    "from_rows": "load",
    "load": "load",
    "open": "folder",
    "verify": "certificate",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import on first use: `import byheart` stays fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'byheart' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
