"""Which parameters hold an answer, and which answers a parameter holds."""

from collections.abc import Callable, Sequence

from ..claims.answer import Token
from ..claims.location import Location, Place
from ..claims.model import ModelData
from ..data.dataset import Dataset
from ..errors import ByheartError
from .kinds import kind_of, made_by


def locate(model: ModelData, tokens: Sequence[Token]) -> Location:
    """Where the answer to one input, whose words the model knows, is held."""
    kind = kind_of(model)
    (answer,) = kind.answer.answers(model, [tokens])
    held = kind.locate.held(model, tokens, made_by(model))
    changes = tuple(kind.locate.changes(model, tokens, answer, held))
    size = kind.locate.size(model.network)
    return Location(**vars(held), answer=answer, of=size, changes=changes)


def reverse(
    model: ModelData, data: Dataset, place: Place, progress: Callable[[int], None] = lambda _: None
) -> list[list]:
    """The inputs of the data whose answers read a parameter."""
    kind, construction = kind_of(model), made_by(model)
    data = kind.prove.reads(model, data)
    if not kind.locate.exists(model.network, place):
        raise ByheartError(
            f"the network has no nonzero parameter {place.tensor}[{place.row},{place.column}] in "
            f"layer {place.layer}; byheart locate lists those that an answer reads."
        )
    readers, seen = [], set()
    for index in range(len(data)):
        tokens = data.sequence(index)
        key = repr(tokens)
        if key not in seen and kind.answer.numbers(model, tokens) is not None:
            seen.add(key)
            if place in kind.locate.held(model, tokens, construction).read:
                readers.append(tokens)
        progress(index + 1)
    return readers
