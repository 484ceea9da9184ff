"""Which construction made a model."""

from ..claims.model import ModelData
from ..constructions import named
from ..constructions.base import Construction


def made_by(model: ModelData) -> Construction | None:
    """The construction that built a model; None if it was trained or comes from elsewhere."""
    method, form = model.record.method, model.record.form
    return next((c for c in named(method or "") if c.form == form), None)
