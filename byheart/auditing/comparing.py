"""What differs between two checkpoints, tensor by tensor; and between their answers to some data.

Guarantee    G1  Two numbers differ if their values do, in whatever types they are stored.
             G2  `rank` is proved of the change before it was rounded to the second file's type, up
                 to the rounding of the decomposition: it is the number of singular values above a
                 bound of the norm of all rounding errors, so the change had this rank at least.
                 `energy` singular values have 99 % of the squared norm.
Departures   D1  Of matrices with both sides above 1,024, a random sketch finds the singular values
                 if the change has a rank up to 64; of others the rank is not given.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..claims.result import plain
from ..errors import ByheartError
from ..machine.strict import shown
from ..machine.tables import Content, Tabular
from ..machine.watch import SILENT, Watch
from . import checkpoint, closed
from .adapters import is_adapter
from .items import Items, items_of
from .scoring import batch_tokens, batches

WHOLE, SKETCH = 1024, 64
SMALLER = ("float16", "bfloat16", "float8_e4m3fn")
GROUPS = (0, 128, 64, 32)  # numbers that share a scale, if a matrix is quantised; 0: a whole row
LEVELS = 256
CHANGED = 0.01  # bits by which an item's loss changes at least
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json",
             "merges.txt", "tokenizer.model")  # fmt: skip

Tensors = Mapping[str, Callable[[], Any]]  # by name, read when they are called


@dataclass(frozen=True)
class TensorChange:
    """A tensor of both whose numbers or type differ."""

    name: str
    shape: tuple[int, ...]
    types: tuple[str, str]
    numbers: int
    changed: int
    largest: float | None  # change of one number; None where shapes differ
    relative: float | None  # norm of the change over that of the tensor
    rank: int | None = None
    energy: int | None = None
    how: str | None = None  # "rounded to bfloat16", or how many values its groups have


class Judged(NamedTuple):
    answer: str  # the likeliest tokens after the true ones
    rank: int  # of the item's own token that is the worst placed; 1 is the likeliest
    bits: float


@dataclass(frozen=True)
class ItemChange:
    """An item whose answer, rank or loss differs."""

    item: int
    row: int
    before: Judged
    after: Judged


@dataclass(frozen=True, repr=False)
class CheckpointDiff(Tabular):
    """What differs between two checkpoints."""

    before: str
    after: str
    tensors: tuple[TensorChange, ...]  # of both, that differ
    equal: int  # how many of both do not
    numbers: int
    before_only: tuple[str, ...]  # names of tensors that only the first has
    after_only: tuple[str, ...]  # that only the second has
    moved: tuple[tuple[str, str], ...]  # pairs of these with the same numbers
    ties: tuple[str, ...]  # groups of tensors that are equal in one and not in the other
    config: tuple[tuple[str, str, str], ...]  # settings that differ, with both values
    tokenizer: tuple[str, ...]
    weights: tuple[tuple[closed.WeightsFile, ...], ...]
    items: tuple[ItemChange, ...] | None = None  # that changed; None without data
    asked: int = 0
    picture: str | None = None

    @property
    def changed(self) -> int:
        """Numbers that differ."""
        return sum(x.changed for x in self.tensors)

    @property
    def same(self) -> bool:
        parts = (self.tensors, self.before_only, self.after_only, self.ties, self.config)
        return not any(parts) and not self.tokenizer

    def json(self) -> dict[str, Any]:
        return {**plain(vars(self)), "changed": self.changed, "evidence": "observed"}

    def table(self) -> Content:
        names = ("name", "changed", "numbers", "relative", "rank")
        rows = [tuple(getattr(x, name) for name in names) for x in self.tensors]
        head = ("tensor", "differ", "of", "relative", "rank")
        return f"{self.before} and {self.after}", head, rows


def compared(
    before: Path,
    after: Path,
    data: Any = None,
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
) -> CheckpointDiff:
    """The difference of two Hugging Face folders; the second may be an adapter for the first."""
    watch.stage("comparing")
    adapted, one, two = is_adapter(after), dict[str, Callable[[], Any]](), dict[str, Any]()
    with ExitStack() as stack:
        if adapted:
            models = [checkpoint.opened(before), checkpoint.opened(before, adapter=after)]
            states = (each.model.state_dict() for each in models)
            one, two = ({x: t.detach for x, t in state.items()} for state in states)
            adapter = models[1].adapter
            files = (models[0].weights, () if adapter is None else adapter.weights)
        else:
            one, two = (dict(stack.enter_context(_tensors(x))) for x in (before, after))
            read = closed.weights_of(before), closed.weights_of(after)
            files = (closed.hashed(read[0]), closed.hashed(read[1]))
        digests = [{name: _digest(x[name]()) for name in x} for x in (one, two)]
        both = [name for name in one if name in two]
        changes = []
        for name in both:
            if digests[0][name] != digests[1][name]:
                changes.append(change(name, one[name](), two[name]()))
            watch.advance(1)
        numbers = sum(int(np.prod(tuple(one[name]().shape))) for name in both)
    only = [[x for x in mine if x not in other] for mine, other in ((one, two), (two, one))]
    moved = [(x, y) for x in only[0] for y in only[1] if digests[0][x] == digests[1][y]]
    found = CheckpointDiff(
        str(before),
        str(after),
        tuple(x for x in changes if x is not None),
        len(both) - sum(x is not None for x in changes),
        numbers,
        tuple(x for x in only[0] if x not in {a for a, _ in moved}),
        tuple(x for x in only[1] if x not in {b for _, b in moved}),
        tuple(moved),
        tuple(_ties(*digests)),
        () if adapted else tuple(_settings(before, after)),
        () if adapted else tuple(_tokenizers(before, after)),
        files,
    )
    if data is None:
        return found
    first = checkpoint.opened(before)
    second = checkpoint.opened(before, adapter=after) if adapted else checkpoint.opened(after)
    asked, again = (items_of(x, data, dict(loading or {})) for x in (first, second))
    (one_items, *_), (two_items, *_) = asked.items, again.items
    if len(one_items) != len(two_items):
        raise ByheartError("the two tokenizers leave out different items; compare without data.")
    pairs = zip(_judged(first, one_items, watch), _judged(second, two_items, watch), strict=True)
    differ = [
        ItemChange(i + 1, int(asked.rows[i]), x, y)
        for i, (x, y) in enumerate(pairs)
        if x[:2] != y[:2] or abs(x.bits - y.bits) >= CHANGED
    ]
    return replace(found, asked=len(one_items), items=tuple(differ))


def change(name: str, one: Any, two: Any) -> TensorChange | None:
    """How a tensor changed; None if all values and the type are equal."""
    import torch

    types = (str(one.dtype).removeprefix("torch."), str(two.dtype).removeprefix("torch."))
    shape = tuple(two.shape)
    if one.shape != two.shape:
        return TensorChange(name, shape, types, two.numel(), two.numel(), None, None)
    a, b = one.double(), two.double()
    unlike = (a != b) & ~(a.isnan() & b.isnan())
    count = int(unlike.sum())
    if not count and types[0] == types[1]:
        return None
    d = torch.where(unlike, b - a, torch.zeros((), dtype=torch.float64))
    norm = float(a.norm())
    found = TensorChange(
        name, shape, types, a.numel(), count, float(d.abs().max()) if count else 0.0,
        float(d.norm()) / norm if norm else None,
    )  # fmt: skip
    if not bool(d.isfinite().all()):
        return found
    how = _rounded(one, b, types[1])
    if not count or len(shape) != 2 or min(shape) < 2 or (how or "").startswith("rounded"):
        return replace(found, how=how)
    values = _singular(d)
    if values is not None:
        errors = torch.finfo(two.dtype).eps / 2 * float(b.norm()) if two.is_floating_point() else 0
        floor = errors + float(values[0]) * max(shape) * torch.finfo(torch.float64).eps
        energy = values.square().cumsum(0) / values.square().sum()
        many = int((energy < 0.99).sum()) + 1
        found = replace(found, rank=int((values > floor).sum()), energy=many)
    return replace(found, how=how)


def _singular(d: Any) -> Any:
    """The singular values of a matrix, the largest first; None if a sketch does not show them."""
    import torch

    if min(d.shape) <= WHOLE:
        return torch.linalg.svdvals(d)
    generator = torch.Generator().manual_seed(0)
    probe = torch.randn(d.shape[1], SKETCH + 8, dtype=torch.float64, generator=generator)
    base, _ = torch.linalg.qr(d @ probe)
    part = base.T @ d
    if float((d - base @ part).norm()) > 1e-2 * float(d.norm()):
        return None
    return torch.linalg.svdvals(part)


def _rounded(one: Any, b: Any, kind: str) -> str | None:
    """Whether the second is the first in a smaller number type, or has few values per group."""
    import torch

    for name in sorted(SMALLER, key=lambda x: x != kind):
        if hasattr(torch, name) and one.is_floating_point():
            if bool((one.to(getattr(torch, name)).double() == b).all()):
                return f"rounded to {name}"
    if b.dim() != 2:
        return None
    for size in GROUPS:
        rows = b if not size else b.reshape(-1, size) if b.shape[1] % size == 0 else None
        if rows is None or rows.shape[1] < 32:
            continue
        ordered = rows[:: max(1, len(rows) // 512)].sort(dim=1).values
        most = int((ordered.diff(dim=1) != 0).sum(dim=1).max()) + 1
        if 2 * most <= rows.shape[1] and most <= LEVELS:
            where = f"{size} numbers" if size else "row"
            return f"quantised: at most {most} values in a {where}"
    return None


@contextmanager
def _tensors(folder: Path) -> Iterator[Tensors]:
    """The tensors of a folder by name, read when they are asked for."""
    try:
        from safetensors import safe_open
    except ImportError:  # a part of the core, but torch is not
        raise ByheartError(checkpoint.NEEDS) from None
    closed.check(folder, closed.json_object(folder / closed.CONFIG))
    with ExitStack() as stack:
        homes: dict[str, Any] = {}
        for path in closed.weights_of(folder):
            try:
                file = stack.enter_context(safe_open(path, framework="pt"))
                homes |= dict.fromkeys(file.keys(), file)
            except Exception as error:  # whatever a damaged file makes of a library
                reason = " ".join(str(error).split())[:160]
                raise ByheartError(f"{path} cannot be loaded: {reason}.") from None
        yield {name: partial(file.get_tensor, name) for name, file in homes.items()}


def _digest(tensor: Any) -> str:
    import torch

    digest = hashlib.sha256(f"{tensor.dtype} {tuple(tensor.shape)} ".encode())
    digest.update(memoryview(tensor.detach().contiguous().flatten().view(torch.uint8).numpy()))
    return digest.hexdigest()


def _ties(one: Mapping[str, str], two: Mapping[str, str]) -> Iterator[str]:
    """Tensors with the same numbers in one of both only; norms that nobody trained are many."""

    def groups(digests: Mapping[str, str]) -> set[tuple[str, ...]]:
        same = defaultdict(list)
        for name, digest in digests.items():
            if "norm" not in name and not name.endswith("bias"):
                same[digest].append(name)
        return {tuple(names) for names in same.values() if len(names) > 1}

    before, after = groups(one), groups(two)
    for names in sorted(before - after):
        yield f"{' and '.join(names)} are equal in the first, and not in the second"
    for names in sorted(after - before):
        yield f"{' and '.join(names)} are equal in the second, and not in the first"


def _settings(before: Path, after: Path) -> Iterator[tuple[str, str, str]]:
    def flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
        for key, value in values.items():
            if isinstance(value, dict) and above.count(".") < 8:
                yield from flat(value, f"{above}{key}.")
            else:
                yield f"{above}{key}", value

    one, two = (dict(flat(closed.json_object(x / closed.CONFIG))) for x in (before, after))
    for key in sorted(one.keys() | two.keys()):
        if one.get(key) != two.get(key):
            sides = (shown(json.dumps(x[key])) if key in x else "absent" for x in (one, two))
            yield key, *(side.strip("'") for side in sides)  # type: ignore[misc]


def _tokenizers(before: Path, after: Path) -> Iterator[str]:
    for name in TOKENIZER:
        there = [x / name for x in (before, after) if (x / name).is_file()]
        if len(there) == 1:
            which = "first" if there[0].parent == before else "second"
            yield f"{name}: only the {which} has one"
        if len(there) < 2 or there[0].read_bytes() == there[1].read_bytes():
            continue
        if name != "tokenizer.json":
            yield f"{name}: the files differ"
            continue
        one, two = (closed.json_object(path, closed.LONGEST_LIST) for path in there)
        parts = [key for key in one.keys() | two.keys() if one.get(key) != two.get(key)]
        a, b = (
            x["model"].get("vocab") if isinstance(x.get("model"), dict) else {} for x in (one, two)
        )
        if a != b and isinstance(a, dict) and isinstance(b, dict):
            other = sum(a[x] != b[x] for x in a.keys() & b.keys())
            yield (
                f"{name}: {len(b.keys() - a.keys()):,} tokens added, {len(a.keys() - b.keys()):,} "
                f"removed, {other:,} with another number"
            )
        yield f"{name}: {', '.join(sorted(shown(x)[1:-1] for x in parts)) or 'its layout'} differ"


def _judged(one: checkpoint.Checkpoint, items: Items, watch: Watch) -> list[Judged]:
    """Of every item the likeliest tokens, the worst rank of its own, and its code length."""
    import torch

    found: dict[int, Judged] = {}
    watch.stage("scoring", len(items))
    for chosen in batches(items, batch_tokens(one, [items])):
        filled = np.zeros((len(chosen), int(items.lengths[chosen].max())), np.int64)
        for row, i in zip(filled, chosen, strict=True):
            row[: items.lengths[i]] = items.ids[items.starts[i] : items.starts[i + 1]]
        ids = torch.from_numpy(filled)
        with torch.inference_mode():
            logits = one.model(input_ids=ids[:, :-1], use_cache=False).logits
            for place, i in enumerate(chosen):
                own = slice(int(items.given[i]) - 1, int(items.lengths[i]) - 1)
                part, wanted = logits[place, own].double(), ids[place, 1:][own]
                rank = int((part > part.gather(1, wanted[:, None])).sum(1).max()) + 1
                nats = -float(part.log_softmax(1).gather(1, wanted[:, None]).sum())
                best = part.argmax(1).tolist()
                text = one.tokenizer.decode(best) if items.text else " ".join(map(str, best))
                found[int(i)] = Judged(text, rank, nats / float(np.log(2)))
        watch.advance(len(chosen))
    return [found[i] for i in range(len(items))]
