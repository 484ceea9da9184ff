"""What the bounds need to know of a dataset and of an architecture."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ByheartError
from ..machine.watch import SILENT, Watch

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..data.documents import Documents
    from ..theory import Data, Model

BITS = 32
BLOCK = 1 << 22  # tokens
MAY_BE_ZERO = ("heads", "width")


def data_facts(path: str | Path, loading: Mapping | None = None, watch: Watch = SILENT) -> "Data":
    """The facts of a file, counted as `byheart stats` counts them."""
    from ..data.load import is_corpus, load, load_documents
    from ..data.statistics import corpus_statistics

    watch.stage("loading")
    if is_corpus(path):
        documents = load_documents(path, **(loading or {}))
        watch.stage("counting")
        return _facts(corpus_statistics(documents), **_of_documents(documents))
    dataset = load(path, **(loading or {}))
    watch.stage("counting")
    return dataset_facts(dataset)


def dataset_facts(dataset: "Dataset") -> "Data":
    """The facts of a dataset that was read."""
    from ..data.statistics import statistics

    return _facts(statistics(dataset), **_of_dataset(dataset))


def _facts(counted: dict, **others: int | bool | None) -> "Data":
    """What `stats` counts, and what it does not."""
    from ..theory import Data

    same = ("sequences", "contexts", "multisets", "labels", "vocabulary")
    both = counted["vocabulary"] + counted["labels"]
    return Data(
        **{name: counted[name] for name in same},
        **{"union": both, **others},
        radius=counted["separation"]["radius"],
        distance=counted["separation"]["distance"],
        entropy=counted["entropy"]["total"],
        conflicts=counted["conflicts"]["contexts"],
        mixed=counted["conflicts"]["multisets"],
    )


def _of_dataset(dataset: "Dataset") -> dict:
    """A label that is a token as well counts once; a vector is no label."""
    found = {"length": dataset.length, "dimension": dataset.vectors.shape[1]}
    found |= {"every": dataset.every, "padded": len(set(dataset.lengths.tolist())) > 1}
    if dataset.kind != "vector":
        tokens = dataset.tokens if dataset.kind == "string" else dataset.vectors[:, 0].tolist()
        found["union"] = len({*tokens, *dataset.label_names})
    return found


def _of_documents(documents: "Documents") -> dict:
    """Any token of a document may follow."""
    found = {"length": longest_context(documents), "union": distinct_tokens(documents)}
    return {**found, "dimension": 1, "every": False, "padded": found["length"] > 1}


def distinct_tokens(documents: "Documents") -> int:
    """Without the mark that ends a document."""
    import numpy as np

    ids = documents.ids
    seen = np.zeros(int(ids.max()) + 1, np.bool_)
    for start in range(0, len(ids), BLOCK):
        seen[ids[start : start + BLOCK]] = True
    if documents.separator is not None and documents.separator < len(seen):
        seen[documents.separator] = False
    return int(seen.sum())


def longest_context(documents: "Documents") -> int:
    """Tokens before the last one of the longest document, as far as a window sees."""
    import numpy as np

    ids = documents.ids
    none = np.zeros(0, np.int64)
    ends = none if documents.separator is None else np.flatnonzero(ids == documents.separator)
    lengths = np.diff(np.concatenate(([-1], ends, [len(ids)]))) - 1
    longest = min(int(lengths.max()), documents.length or len(ids)) - 1
    return max(1, min(longest, documents.window or longest))


def model_facts(
    architecture: str | None,
    sizes: Mapping[str, int | str],
    data: "Data | None" = None,
    parameters: int | None = None,
    bits: int | None = None,
) -> "Model | None":
    """The facts of an architecture, or of a decoder of these sizes; None if neither is given."""
    from .. import architectures
    from ..theory import Model

    _check({**sizes, "parameters": parameters, "bits": bits})
    if architecture is None and parameters is not None:
        return Model(parameters=parameters, bits=bits or BITS, **sizes)  # type: ignore[arg-type]
    if architecture is None and not sizes:
        return None
    name = architecture or "decoder"
    found = architectures.architecture(name, {**_lent(name, data), **sizes})
    count = found.parameters if parameters is None else parameters
    return Model(parameters=count, bits=bits or BITS, **found.sizes)  # type: ignore[arg-type]


def _lent(name: str, data: "Data | None") -> dict[str, int]:
    """Vocabulary and length of the data, for a model of which they are not said."""
    from ..architectures import ARCHITECTURES

    if data is None or name not in ARCHITECTURES:
        return {}
    lent = {"vocabulary": data.union, "length": data.length}
    return {size: value for size, value in lent.items() if value is not None}


def _check(sizes: Mapping[str, int | str | None]) -> None:
    """ByheartError for a size that nothing has, or a word that is none of the choices."""
    from ..theory.question import ACTIVATIONS, ATTENTIONS

    choices = {"attention": ATTENTIONS, "activation": ACTIVATIONS}
    for name, size in sizes.items():
        option = f"--{name.replace('_', '-')}"
        least = int(name not in MAY_BE_ZERO)
        if isinstance(size, int) and size < least:
            raise ByheartError(f"{option} is at least {least}, not {size}.")
        if name in choices and size not in choices[name]:
            raise ByheartError(f"{option} is one of {', '.join(choices[name])}, not {size!r}.")
