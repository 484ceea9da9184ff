"""The facts of a dataset that bounds read, counted as `byheart stats` counts them."""

from ..data.dataset import Dataset
from ..data.statistics import statistics
from .question import Data


def data_facts(data: Dataset) -> Data:
    """A label that is also a token counts once in `union`; a vector is not a label."""
    counted = statistics(data)
    union = counted["vocabulary"] + counted["labels"]
    if data.kind != "vector":
        tokens = data.tokens if data.kind == "string" else data.vectors[:, 0].tolist()
        union = len({*tokens, *data.label_names})
    return Data(
        **{x: counted[x] for x in ("sequences", "contexts", "multisets", "labels", "vocabulary")},
        length=data.length,
        union=union,
        dimension=data.vectors.shape[1],
        radius=counted["separation"]["radius"],
        distance=counted["separation"]["distance"],
        entropy=counted["entropy"]["total"],
        conflicts=counted["conflicts"]["contexts"],
        mixed=counted["conflicts"]["multisets"],
        every=data.every,
        padded=len(set(data.lengths.tolist())) > 1,
    )
