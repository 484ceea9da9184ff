"""forget: the model of data without some items, compiled from what remains."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..auditing.closed import is_taught
from ..claims.answer import Question
from ..claims.verification import PROVE_LIMIT
from ..data.edits import relabelled, without
from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from ..models.model import Model
from .change import FORGET, Change, begin, carry_out, item, objects, split_again
from .taught import forget_taught

EXAMPLE = '{"input": ["a", "b"]}'


def forget(
    model: Model | str | Path,
    data: Any,
    items: Sequence[Question] = (),
    *,
    file: str | Path | None = None,
    label_only: bool = False,
    output: str | Path | None = None,
    write_data: str | Path | None = None,
    force: bool = False,
    prove_limit: float = PROVE_LIMIT,
    keep: Any = (),
    watch: Watch = SILENT,
    **loading: Any,
) -> Change:
    """The model of the data without some items: compiled from the remaining data alone.

    Args:
        model: A model compiled with editable=True, or by one-layer, token-averaging, gpt2 or llama;
            or the path of its folder.
        data: The data that it was compiled from: a Dataset, or whatever `load` reads.
        items: Inputs to forget: lists of tokens, or text; of texts, whole documents.
        file: Further items, a .jsonl file with lines like {"input": ["a", "b"]}.
        label_only: Keep the inputs and give them a fixed label: the first, in sorted order, of
            those that the remaining items have.
        output: The folder to write the new model to; by default none is written.
        write_data: The file to write the remaining data to.
        force: Replace existing output.
        prove_limit: Seconds; where proving distributions takes longer, they are observed.
        keep: Of a taught checkpoint: the texts that it keeps.
        watch: Where progress is reported.
        **loading: How to read a file: the options of `load`.

    Returns:
        The model with the remaining data. Its weights hold nothing of the items (of their labels,
        with label_only) beyond what the remaining data says. Of a taught checkpoint, what `teach`
        returns.

    Raises:
        ByheartError: The model cannot be edited, the data is not its data, an item is not in the
            data or is named twice.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> model = byheart.compile(data, editable=True)
        >>> byheart.forget(model, data, ["a b"]).data[0]
        (['b', 'b'], 'y')
    """
    if not items and file is None:
        raise ByheartError("there is nothing to forget; name an item.")
    if is_taught(model):
        if label_only or write_data is not None:
            raise ByheartError("a taught folder forgets whole facts; leave out other options.")
        named = [*items, *(x.get("input") for _, x in objects(file, EXAMPLE))] if file else items
        place = None if output is None else Path(output)
        return forget_taught(model, data, named, place, keep, force, loading, watch)
    if keep:
        raise ByheartError("`keep=...` is for a folder that was taught; leave it out.")
    task = begin(model, data, loading, output, write_data, force, prove_limit, watch)
    named, selection = list(items), task.selection
    if file is not None:
        named += [item(task.model, value, at, EXAMPLE) for at, value in objects(file, EXAMPLE)]
    rows = [(selection.rows(x), selection.tokens(x)) for x in named]
    gone = [row for own, _ in rows for row in own]
    remaining = without(task.data, gone)
    counts = {"changed": 0, "added": 0, "removed": len(rows), "rows": len(gone)}
    if label_only:
        label = remaining.label_names[0]
        every = task.data.every
        changes = [(own, x, [label] * len(x) if every else label) for own, x in rows]
        remaining = relabelled(selection.items, changes)
        counts |= {"changed": len(rows), "removed": 0}
    remaining = split_again(task.model, remaining, rebuild=True)
    return carry_out(task, task.construction, remaining, FORGET, counts)
