"""The sizes of the paper's constructions for a dataset, before anything is built.

The closed forms count what stands between E_in and E_out. Here these are added: E_in has a weight a
coordinate and a bias, none of them 0 (bit_extraction, D12), and E_out has two numbers. The marked
tokens are those that the constructions mark (Lemma B.1), which does not depend on a seed.
"""

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...gadgets.multisets import distinct, marked
from ...theory.kajitsuka2025.sizes import Size, bit_extraction_size, deep_sets_size, embedding_size
from ..base import Predicted, input_of
from ..families import Extraction
from .embedding import embedded
from .known import Known, known_columns, known_multisets

OUTPUT = 2


def predict_transformer(dataset: Dataset, contexts: Contexts, options: Extraction) -> Predicted:
    """Of Theorem B.1, and of Corollary 4.1."""
    spec = input_of(dataset, bool(options.positions))
    seen = known_columns(dataset, contexts, spec, options)
    size = bit_extraction_size(
        len(contexts),
        spec.length,
        spec.coordinates,
        len(dataset.label_names),
        seen.radius,
        seen.separation,
        len(_marked(seen)),
    )
    return _whole(size, spec.coordinates + 1)


def predict_deep_sets(dataset: Dataset, contexts: Contexts, options: Extraction) -> Predicted:
    """Of Theorem D.1."""
    seen = known_multisets(dataset, contexts, options)
    dimension = seen.points.shape[1]
    size = deep_sets_size(
        len(contexts),
        seen.rows.shape[1],
        dimension,
        len(dataset.label_names),
        seen.radius,
        seen.separation,
        len(_marked(seen)),
    )
    return _whole(size, dimension + 1)


def predict_embedding(dataset: Dataset, contexts: Contexts, options: Extraction) -> Predicted:
    """Of Theorem E.1: the matrix holds the values of marked tokens, and ids that are not 0."""
    seen, ids, columns = embedded(dataset, contexts, options)
    labels = len(dataset.label_names)
    size = embedding_size(len(contexts), seen.rows.shape[1], columns, labels)
    return _whole(size, len(_marked(seen)) + sum(map(bool, ids)))


def _marked(seen: Known) -> list[int]:
    return marked(distinct(seen.rows)[0])


def _whole(size: Size, first: int) -> Predicted:
    """With E_in or the embedding matrix, and E_out."""
    return Predicted(size.parameters + first + OUTPUT, size.depth)
