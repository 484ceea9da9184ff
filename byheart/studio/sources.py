"""The data and the models of tasks, kept from one task to the next."""

import json
import os
from collections.abc import Hashable, Iterator, Set
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..api.change import items_of
from ..api.configure import construction_of
from ..data.dataset import Dataset
from ..data.edits import Items
from ..data.load import LOADING, OPTIONS, TABLES, kind_of, load
from ..data.readers import jsonl, table
from ..data.readers.raw import opened
from ..models.opening import open as open_folder
from ..models.source import load_for, settlement
from .requests import chosen

MAX_ROWS = 200_000  # of a file that can be looked at

opened_model = lru_cache(2)(open_folder)  # the model of a folder, kept for the next question


@lru_cache(1)
def _loaded(path: str, written: int, loading: str) -> Dataset:
    return load(path, **chosen(json.loads(loading)))


def dataset_of(data: str, loading: dict[str, Any]) -> Dataset:
    """The dataset of a file, which is kept: the next task may ask for it again."""
    return _loaded(data, os.stat(data).st_mtime_ns, json.dumps(loading, sort_keys=True))


def first_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """The rows that can be looked at, counted from 1."""
    for i in range(min(MAX_ROWS, len(dataset))):
        tokens, label = dataset[i]
        yield {"row": i + 1, "input": tokens, "label": label}


def columns(path: Path, kind: str) -> list[str]:
    """The names of a table's columns, as given by the header line."""
    try:
        with opened(path, kind) as raw:
            if kind == ".jsonl":
                first = next(iter(raw.file), b"{}")
                return [str(name) for name in jsonl.decoder().decode(first.decode("utf-8"))]
            return [*table.every(raw, {}).columns]
    except (OSError, ValueError, StopIteration):
        return []


def reading(path: Path, loading: dict[str, Any]) -> dict:
    """Which options there are for a file, and which columns."""
    kind = kind_of(path, loading.get("format"))
    names = columns(path, kind) if kind in (".csv", ".tsv", ".jsonl") else []
    listed = [
        {
            "name": option.name,
            "help": option.help,
            "choices": list(option.choices),
            "default": option.default if isinstance(option.default, str | int) else None,
            "several": option.several,
            "columns": names if option.name in ("input", "label", "count") else [],
        }
        for option in LOADING
        if option.name in OPTIONS.get(kind, ("format",))
    ]
    return {"kind": kind, "table": kind in TABLES, "options": listed, "given": loading}


@lru_cache(2)
def known_inputs(folder: str, data: str, loading: str) -> tuple[Items, Set[Hashable]] | None:
    """The items that a model was made from; None for texts, whose contexts `placed` knows."""
    model, construction = opened_model(folder), construction_of(opened_model(folder))
    _, held, _ = settlement(model, load_for(model, data, chosen(json.loads(loading))))
    items = items_of(held, construction)
    return None if items.texts else (items, items.rows().keys())
