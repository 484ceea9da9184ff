"""verify: judge every prediction of a dataset by what a model claims."""

from collections.abc import Callable

from ..claims.verification import PROVE_LIMIT, Judging, Verification
from ..data.dataset import Dataset
from ..errors import ByheartError
from .kinds import kind_of
from .model import Model


def verify(
    model: Model,
    dataset: Dataset,
    engine: str = "auto",
    progress: Callable[[int], None] | None = None,
    sample: int | None = None,
    seed: int = 0,
    prove_limit: float = PROVE_LIMIT,
) -> Verification:
    """The evidence that the model keeps its claim about a dataset, whichever it was made from.

    `byheart.verify` also reads files, and asks whether this is the model's own data.
    """
    prove = kind_of(model).prove
    how = Judging(engine, sample, seed, prove_limit, progress)
    held = prove.reads(model, dataset)
    unfit = prove.unfitting(model, held)
    if unfit:
        raise ByheartError(f"{unfit}.")
    return prove.verify(model, held, how)
