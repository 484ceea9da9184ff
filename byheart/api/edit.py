"""edit: the model of data in which items are changed, added or removed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..claims.answer import Question
from ..claims.verification import PROVE_LIMIT
from ..constructions.retrieval import Retrieval
from ..data.dataset import Dataset
from ..data.edits import joined, relabelled, without
from ..data.load import load
from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from ..models.model import Model
from ..models.questions import from_line
from .change import (
    EDIT,
    Change,
    Old,
    Selection,
    carry_out,
    item,
    objects,
    opened,
    split_again,
    target_at,
)
from .configure import check_prove_limit
from .reading import whole_data

CHANGE, ADD, REMOVE = ACTIONS = ("change", "add", "remove")
EXAMPLE = '{"edit": "change", "input": ["a", "b"], "label": "c"}'


def edit(
    model: Model | str | Path,
    data: Any,
    change: Sequence[tuple[Question, Any]] = (),
    add: Any = None,
    remove: Sequence[Question] = (),
    *,
    set: Sequence[str] = (),
    edits: str | Path | None = None,
    rebuild: bool = False,
    output: str | Path | None = None,
    write_data: str | Path | None = None,
    force: bool = False,
    prove_limit: float = PROVE_LIMIT,
    watch: Watch = SILENT,
    **loading: Any,
) -> Change:
    """Return the model that `compile` would build from the edited data, byte for byte.

    Args:
        model: A model compiled with editable=True, or by one-layer, token-averaging, gpt2 or llama;
            or the path of its folder.
        data: The data that it was compiled from: a Dataset, or whatever `load` reads.
        change: Pairs (input, new label); an input is a list of tokens, or text.
        add: Further rows (input, label), a file or a dataset; in text, further documents.
        remove: Inputs to remove; in text, documents.
        set: Further changes as a person types them: "capital of france=paris".
        edits: A .jsonl file with one edit per line:
            {"edit": "change", "input": ["a", "b"], "label": "c"}; others "add" or "remove".
        rebuild: Search the structure of a label edit again, instead of taking the model's; train
            the tokenizer of a stock checkpoint again, if it was trained on the data.
        output: The folder to write the new model to; by default none is written.
        write_data: The file to write the changed data to.
        force: Replace existing output.
        prove_limit: Seconds; where proving distributions takes longer, they are observed.
        watch: Where progress is reported.
        **loading: How to read a file: the options of `load`.

    Returns:
        The changed model with the changed data.

    Raises:
        ByheartError: The model cannot be edited, the data is not its data, an item is not in the
            data or is edited twice.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> model = byheart.compile(data, editable=True)
        >>> byheart.edit(model, data, change=[(["b", "b"], "x"), ("a b", "y")]).model.recall("a b")
        'y'
    """
    check_prove_limit(prove_limit)
    target = target_at(output, write_data, force)
    old = opened(model, data, loading, target, watch)
    changes, remove = [*change, *(_typed(old, text) for text in set)], list(remove)
    rows_to_add = []
    for action, tokens, label in _lines(old.model, edits) if edits is not None else ():
        if action == CHANGE:
            changes.append((tokens, label))
        elif action == ADD:
            rows_to_add.append((tokens, label))
        else:
            remove.append(tokens)
    if add is not None and rows_to_add:
        raise ByheartError(
            "`add=...` and lines that add in `edits=...` do not go together; use one file."
        )
    items, construction = old.items, old.construction
    more = _more_rows(old, rows_to_add if add is None and rows_to_add else add)
    selection = Selection(old.model, items)
    changed = [(selection.rows(x), selection.tokens(x), label) for x, label in changes]
    removed = [row for x in remove for row in selection.rows(x)]
    if not (changed or removed or more is not None):
        raise ByheartError("there is nothing to edit; name an item to change, add or remove.")
    edited = relabelled(items, changed) if changed else items.dataset
    edited = without(edited, removed) if removed else edited
    added = 0
    if more is not None:
        others = replace(items, dataset=more)
        for key in others.rows():
            tokens = others.tokens(key)
            if selection.has(tokens):
                raise ByheartError(f"{tokens!r} is in the data already; change it instead.")
            added += 1
        edited = joined(edited, more)
    if not rebuild and _same_inputs(items.dataset, edited) and isinstance(construction, Retrieval):
        construction = replace(construction, structure=old.model.record.search.structure)
    edited = split_again(old.model, edited, rebuild)
    rows = sum(len(rows) for rows, _, _ in changed) + len(removed) + (len(more) if more else 0)
    counts = {"changed": len(changed), "added": added, "removed": len(remove), "rows": rows}
    return carry_out(old, construction, edited, EDIT, counts, target, prove_limit, watch)


def _more_rows(old: Old, add: Any) -> Dataset | None:
    """The rows or documents that are added; a stock checkpoint's own tokenizer splits them."""
    if add is None or isinstance(add, Dataset):
        return add
    if old.data.tokenizer is None:
        return whole_data(old.model, add, old.loading)
    if old.folder is None:
        return whole_data(old.model, load(add, **old.loading))
    return whole_data(old.model, add, {**old.loading, "tokenizer": old.folder})


def _typed(old: Old, text: str) -> tuple[list, Any]:
    """Tokens and label of INPUT=LABEL, apart at the last = sign."""
    tokens, mark, label = text.rpartition("=")
    if not mark or not tokens.strip() or not label.strip():
        raise ByheartError(f"`set` takes INPUT=LABEL, such as 'capital of france=paris': {text!r}.")
    return from_line(old.model, tokens.strip()), _label_of(old.data, label.strip())


def _label_of(data: Dataset, text: str) -> Any:
    """The label that a person typed: one, or one for every token."""
    words: list[Any] = text.split() if data.every else [text]
    if isinstance(data.label_names[0], int):
        try:
            words = [int(word) for word in words]
        except ValueError:
            raise ByheartError(
                f"the labels of this model are integers, and {text!r} is not one."
            ) from None
    return words if data.every else words[0]


def _lines(model: Model, path: str | Path) -> Iterator[tuple[str, list, Any]]:
    """Action, tokens and label of each line of a file of edits."""
    for place, value in objects(path, EXAMPLE):
        action = value.get("edit")
        if action not in ACTIONS:
            raise ByheartError(
                f'{place}: "edit" must be one of {", ".join(ACTIONS)}, not {action!r}.'
            )
        tokens = item(model, value, place, EXAMPLE)
        if ("label" in value) == (action == REMOVE):
            has = "has no label" if action == REMOVE else "needs a label"
            raise ByheartError(f"{place}: an edit of the kind {action} {has}.")
        yield action, tokens, value.get("label")


def _same_inputs(one: Dataset, other: Dataset) -> bool:
    """Whether two datasets differ in their labels alone, which need words of one length."""
    digits = [(len(data.label_names) - 1).bit_length() for data in (one, other)]
    return (
        digits[0] == digits[1]
        and np.array_equal(one.starts, other.starts)
        and np.array_equal(one.ids, other.ids)
        and np.array_equal(one.vectors, other.vectors)
    )
