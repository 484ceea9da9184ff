"""byheart compiles a dataset into a transformer that provably knows it by heart."""

from .certificate import Verification as Verification
from .certificate import verify as verify
from .compile import compile as compile
from .context_ids import context_ids as context_ids
from .context_ids import contextual_mapping as contextual_mapping
from .dataset import Dataset as Dataset
from .errors import AssumptionError as AssumptionError
from .errors import ByheartError as ByheartError
from .errors import DisagreementError as DisagreementError
from .folder import open as open
from .language_model import LanguageModel as LanguageModel
from .load import from_rows as from_rows
from .load import load as load
from .model import Model as Model

__version__ = "0.1.0"
