"""edit: the model of data in which items are changed, added or removed."""

import re
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
from .change import EDIT, Change, Task, begin, carry_out, item, objects, split_again
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
    task = begin(model, data, loading, output, write_data, force, prove_limit, watch)
    changes, remove = [*change, *(_typed(task, text) for text in set)], list(remove)
    rows_to_add = []
    for action, tokens, label in _lines(task.model, edits) if edits is not None else ():
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
    selection, construction = task.selection, task.construction
    items = selection.items
    more = rows_to_add if add is None and rows_to_add else add
    if more is not None and not isinstance(more, Dataset):
        if items.dataset.tokenizer is None:
            more = whole_data(task.model, more, task.loading)
        elif task.folder is None:  # a stock checkpoint's own tokenizer splits what is added
            more = whole_data(task.model, load(more, **task.loading))
        else:
            more = whole_data(task.model, more, {**task.loading, "tokenizer": task.folder})
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in changes):
        raise ByheartError("changes are pairs (input, label), such as ('a b', 'c').")
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
            if selection.find(tokens) is not None:
                raise ByheartError(f"{tokens!r} is in the data already; change it instead.")
            added += 1
        edited = joined(edited, more)
    # labels alone differ, and need words of one length
    both = (items.dataset, edited)
    digits = [(len(x.label_names) - 1).bit_length() for x in both]
    same = digits[0] == digits[1] and all(
        np.array_equal(*(getattr(x, name) for x in both)) for name in ("starts", "ids", "vectors")
    )
    if not rebuild and same and isinstance(construction, Retrieval):
        construction = replace(construction, structure=task.model.record.search.structure)
    edited = split_again(task.model, edited, rebuild)
    rows = sum(len(rows) for rows, _, _ in changed) + len(removed) + (len(more) if more else 0)
    counts = {"changed": len(changed), "added": added, "removed": len(remove), "rows": rows}
    return carry_out(task, construction, edited, EDIT, counts)


def _typed(task: Task, text: str) -> tuple[list, Any]:
    """Tokens and label of INPUT=LABEL, apart at the last = sign; a label for every token, if so."""
    tokens, mark, label = (part.strip() for part in text.rpartition("="))
    if not mark or not tokens or not label:
        raise ByheartError(f"`set` takes INPUT=LABEL, such as 'capital of france=paris': {text!r}.")
    words: list[Any] = label.split() if task.data.every else [label]
    question = from_line(task.model, tokens)
    if isinstance(task.data.label_names[0], int):
        if not all(re.fullmatch(r"[+-]?[0-9]{1,19}", word) for word in words):
            raise ByheartError(f"the labels of this model are integers, and {label!r} is not one.")
        words = [int(word) for word in words]
    return question, words if task.data.every else words[0]


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
