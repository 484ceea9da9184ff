"""NumPy archives: `inputs` [N, n] or [N, n, d] and `labels` [N], or [N, n]: one per token."""

import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import ByheartError
from ...machine.files import replacing
from ..arrays import number, number_rows
from ..dataset import Dataset
from ..values import Fault, finite
from .raw import Raw

DAMAGED = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    TypeError,
    SyntaxError,
    RuntimeError,  # an encrypted member; NotImplementedError, an unknown compression, is its child
    MemoryError,
    OverflowError,
    RecursionError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)


def read(raw: Raw) -> Dataset:
    """The sequences of a .npz file; [N, n] holds numbers and [N, n, d] vectors."""
    inputs, labels = _arrays(raw)
    try:
        if inputs.ndim not in (2, 3):
            raise Fault(f'"inputs" has the shape {inputs.shape}; give [N, n] or [N, n, d]')
        if 0 in inputs.shape:
            raise Fault(f'"inputs" has the shape {inputs.shape}, which holds no token; give some')
        if inputs.dtype.kind in "iu":
            _check_range(inputs, "inputs")
            inputs = inputs.astype(np.int64, copy=False)
        elif inputs.dtype.kind == "f" and inputs.dtype.itemsize <= 8:
            bad = np.argwhere(~np.isfinite(inputs))
            if len(bad):
                raise Fault(f'"inputs" row {bad[0][0]} holds infinity or NaN; leave such rows out')
            inputs = finite(inputs.astype(np.float64, copy=False))
        else:
            raise Fault(f'"inputs" holds {inputs.dtype}; give integers or float64, or use .jsonl')
        if labels.shape not in (inputs.shape[:1], inputs.shape[:2]):
            raise Fault(
                f'"labels" has the shape {labels.shape} and "inputs" {inputs.shape}; '
                "give one label per sequence or one per token"
            )
        if labels.dtype.kind not in "iu":
            raise Fault(f'"labels" holds {labels.dtype}; give integers, or use .jsonl')
        _check_range(labels, "labels")
    except Fault as fault:
        raise ByheartError(f"{raw.name}: {fault}.") from None
    tokens, ids = number_rows(inputs.reshape(inputs.shape[0] * inputs.shape[1], -1))
    names, numbers = number(labels.ravel())
    return Dataset(
        kind="vector" if inputs.ndim == 3 else "number",
        tokens=tokens,
        ids=ids.astype(np.int32),
        starts=np.arange(len(labels) + 1, dtype=np.int64) * inputs.shape[1],
        labels=numbers.astype(np.int32),
        label_names=tuple(names.tolist()),
        counts=np.ones(len(labels), np.int64),
        every=labels.ndim == 2,
    )


def _arrays(raw: Raw) -> tuple[NDArray, NDArray]:
    """Inputs and labels as they are stored; the file may be damaged in any way."""
    path, file = raw.name, raw.file
    if not zipfile.is_zipfile(file):
        raise ByheartError(
            f"{path} is not an .npz file, or is truncated; write it with numpy.savez."
        )
    try:
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            for name in ("inputs", "labels"):
                if name not in archive.files:
                    raise ByheartError(f'{path} has no array "{name}"; it has {archive.files}.')
            return archive["inputs"], archive["labels"]
    except ByheartError:
        raise
    except DAMAGED as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ByheartError(
            f"{path} cannot be read ({reason.rstrip('.')}); "
            "write plain arrays of numbers with numpy.savez."
        ) from None


def _check_range(integers: NDArray, name: str) -> None:
    if integers.dtype == np.uint64 and (integers >= 2**63).any():
        row = np.argwhere(integers >= 2**63)[0][0]
        raise Fault(f'"{name}" row {row} holds an integer beyond signed 64 bits; use .jsonl')


def write(dataset: Dataset, path: str | Path) -> None:
    """Write the .npz file; reading it back gives the same sha256."""
    reasons = {
        "string tokens": dataset.kind == "string",
        "string labels": isinstance(dataset.label_names[0], str),
        "sequences of different lengths": len(set(dataset.lengths.tolist())) > 1,
        "counts": bool((dataset.counts != 1).any()),
    }
    for reason, holds in reasons.items():
        if holds:
            raise ByheartError(f"{path}: an .npz file cannot hold {reason}; use .jsonl.")
    vectors = np.asarray(dataset.tokens)
    inputs = vectors[dataset.ids].reshape(len(dataset), dataset.length, -1)
    inputs = inputs[:, :, 0] if dataset.kind == "number" else inputs
    labels = np.array(dataset.label_names, np.int64)[dataset.labels]
    labels = labels.reshape(inputs.shape[:2]) if dataset.every else labels
    with replacing(path) as file:
        np.savez(file, inputs=inputs, labels=labels)
