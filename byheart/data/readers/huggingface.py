"""Folders that `save_to_disk` of the Hugging Face package datasets has written."""

from pathlib import Path
from typing import Any

from ...errors import ByheartError
from ..columns import fields
from ..dataset import Dataset
from .objects import table
from .raw import Raw

MARKS = ("dataset_dict.json", "state.json")  # of a folder of splits, and of one split


def is_folder(path: Path) -> bool:
    """Whether a folder looks like one that `save_to_disk` has written."""
    return any((path / mark).is_file() for mark in MARKS)


def read(raw: Raw, records: str | None, **how: Any) -> Dataset:
    """The dataset of a folder; `records` is the name of one of its splits."""
    try:
        import datasets
    except ImportError:
        raise ByheartError(
            f"{raw.name} needs the package datasets, which is not installed; "
            "run: pip install 'byheart[datasets]'."
        ) from None
    datasets.disable_progress_bars()
    try:
        found = datasets.load_from_disk(str(raw.path))
    except Exception as error:  # the package raises whatever a damaged file leads to
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise ByheartError(f"{raw.name} cannot be read ({reason}).") from None
    return Dataset(**fields(table(found, raw.name, records), **how))
