"""generate: datasets to try methods on, and corpora to count, written to a file."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..claims.result import picked
from ..data import corpora
from ..data.generate import KINDS, WRITERS, save
from ..errors import ByheartError
from ..machine.files import refuse_existing
from ..machine.watch import SILENT, Watch
from ..theory.madden2024.adversarial import adversarial, theorem
from ..theory.madden2024.capacity import Adversarial
from .packs.making import pack
from .packs.pack import Pack

MAKERS: dict[str, Callable] = {**KINDS, "adversarial": adversarial}  # of labelled data
PACK, UNLEARNING = "pack", "unlearning"  # folders of models; the second is the pack of that name
NAMES = (*MAKERS, *corpora.CORPORA, UNLEARNING, PACK)
TEXT = {"unit": "wordpunct", "documents": "line"}  # how a corpus in a .txt file is read


@dataclass(frozen=True)
class Generated:
    """A dataset or a corpus that was written."""

    kind: str
    file: str
    options: Mapping[str, Any]  # of its kind, with those that were not given
    sequences: int
    length: int  # of the longest sequence
    vocabulary: int
    labels: int
    sha256: str  # of the data, not of the file
    loading: Mapping[str, Any] | None = None  # of a corpus: the options of `load` that read it
    parameters: int | None = None  # of the decoder that cannot memorise adversarial data
    theorem: Adversarial | None = None  # the one that says so (madden2024, Theorem 1)

    def json(self) -> dict:
        answer = picked(self, "kind file options sequences length vocabulary labels loading sha256")
        if self.loading is None:
            del answer["loading"]
        if self.theorem is not None:
            answer["theorem"] = {"parameters": self.parameters, **self.theorem._asdict()}
        return answer


def generate(
    kind: str,
    output: str | Path,
    *,
    force: bool = False,
    watch: Watch = SILENT,
    **options: int | float | str | Path | None,
) -> Generated | Pack:
    """Write a dataset to try methods on, or a corpus to count.

    Args:
        kind: "random": sequences with one label each, with hard cases (permutations, repeated
            tokens, duplicates); "tokens": with one label per token; "multisets": of different
            sizes, even empty; "uniform": independent random tokens; "adversarial": what a decoder
            of one layer and these sizes cannot memorise (madden2024, Theorem 1); "zipf" and
            "prefix-tree": documents of token ids; "pack": a folder of facts and models whose truth
            is known, with `name="single"` or another one, to score methods on with `benchmark`;
            "unlearning": the pack of that name.
        output: A new file: .jsonl or .npz for a dataset, .bin or .txt for a corpus; for a pack a
            new folder.
        force: Replace an existing file.
        watch: Where progress is reported.
        **options: Of the kind: sequences, length, dimension, labels, vocabulary, seed, ...; None
            stands for the default.

    Returns:
        What was written; `.json()` is what `byheart generate --json` prints.

    Example:
        >>> import byheart, tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     written = byheart.generate("random", f"{place}/d.jsonl", sequences=20, seed=1)
        ...     data = byheart.load(written.file)
        >>> written.sequences, len(data)
        (20, 20)
    """
    output = Path(output)
    given = {name: value for name, value in options.items() if value is not None}
    if kind not in NAMES:
        raise ByheartError(f"there is no kind {kind!r}; there are: {', '.join(NAMES)}.")
    labelled = kind in MAKERS
    packed = kind in (PACK, UNLEARNING)
    if packed:
        given.setdefault("name", UNLEARNING if kind == UNLEARNING else "")
    make: Callable = pack if packed else (MAKERS | corpora.CORPORA)[kind]
    if not packed:
        endings = WRITERS if labelled else corpora.EXTENSIONS
        if output.suffix.lower() not in endings:
            raise ByheartError(f"{output}: the name must end in one of {' '.join(endings)}.")
        refuse_existing(output, force)
    signature = inspect.signature(make)
    takes = [name for name in signature.parameters if name not in ("folder", "watch")]
    for name in given:
        if name not in takes:
            listed = ", ".join(f"`{x}`" for x in takes)
            raise ByheartError(f"{kind} takes no `{name}`; it takes {listed}.")
    if packed:
        return pack(output, watch=watch, **given)  # type: ignore[arg-type]
    bound = signature.bind(**given)
    bound.apply_defaults()
    used = dict(bound.arguments)
    watch.stage("generating")
    generated: Any = make(**used)
    watch.stage("writing")
    if not labelled:
        corpora.save(generated, output)
        tokens = generated.ids.reshape(used["sequences"], -1)
        words, labels = corpora.distinct(tokens[:, :-2]), corpora.distinct(tokens[:, 1:-1])
        sizes = (len(tokens), tokens.shape[1] - 1, words, labels)
        stored = {"dtype": str(tokens.dtype), "separator": generated.separator}
        loading = stored if output.suffix.lower() == ".bin" else TEXT
        return Generated(kind, str(output), used, *sizes, corpora.sha256(generated), loading)
    save(generated, output)
    parameters, limit = None, None
    if kind == "adversarial":  # the decoder that cannot memorise the data (Theorem 1)
        shape = {name: value for name, value in used.items() if name != "seed"}
        shape["head_dimension"] = shape["head_dimension"] or shape["dimension"]
        parameters, limit = theorem(**shape)
    words, labels = len(generated.tokens), len(generated.label_names)
    sizes = (len(generated), generated.length, words, labels)
    return Generated(
        kind, str(output), used, *sizes, generated.sha256(), parameters=parameters, theorem=limit
    )
