"""byheart compiles a dataset into a transformer that provably knows it by heart."""

from .compiler.compiling import compile as compile
from .data.dataset import Dataset as Dataset
from .data.load import from_rows as from_rows
from .data.load import load as load
from .data.statistics import Statistics as Statistics
from .data.statistics import stats as stats
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
