"""Taught folders: what `verify`, `locate` and `forget` say of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..claims.result import Result
from ..claims.verification import OBSERVED, REFUTED
from ..errors import ByheartError
from ..machine.swap import appearing
from ..machine.watch import Watch
from .reading import reading_of
from .teach import KeptText, kept_texts, texts_of

if TYPE_CHECKING:
    from ..teaching.folder import Folder

GATED = "gated"


@dataclass(frozen=True)
class FirstOrder(Result):
    """Rounding in float32, bounded to first order: nothing of it is proved."""

    contexts: int  # how many were bounded, those with the least room
    positions: int  # of kept texts, likewise
    own: float  # the least argument of a context's own neuron
    other: float  # the largest argument of the nearest other neuron
    margin: float  # the least, in nats
    kept: float | None  # the largest argument at a kept position
    off: float  # below -off, a neuron gives exactly 0

    @property
    def holds(self) -> bool:
        kept = self.kept is None or self.kept <= -self.off
        return self.own > 0 and self.other <= -self.off and self.margin > 0 and kept


@dataclass(frozen=True)
class TaughtVerified(Result):
    """The outcome of `verify` for a taught folder.

    The structure is "gated", which is exact: at every position the logits are the base's to the
    bit, or a taught neuron was above its threshold there; or "refuted", and `failures` says why.
    """

    folder: str
    base: str
    structure: str
    layers: tuple[int, int]
    # "observed" in `runtime`, or "refuted"; None without facts and kept texts
    evidence: str | None = None
    runtime: str | None = None
    facts: int = 0  # of the file
    held: int = 0  # of these in the folder
    answered: int = 0  # correctly
    margin: float | None = None
    kept: tuple[KeptText, ...] = ()
    failures: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    bound: FirstOrder | None = None  # what `bound=...` asked for
    command: str | None = None
    unclaimed: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.failures and (self.evidence is None or self.evidence in self.accept)

    def json(self) -> dict:
        return super().json() | {"holds": self.holds}


def verify_taught(
    folder: str | Path, data: Any, base: Any, keep: Any, accept: Sequence[str], bound: int | None,
    loading: Mapping[str, Any], watch: Watch,
) -> Any:  # fmt: skip
    """Structure against the base, exactly; facts and kept texts as they run here."""
    path = Path(folder)
    if base is None:
        raise ByheartError(f"{path} was taught; name what it was before with `base=...`.")
    watch.stage("loading")
    from ..auditing.checkpoint import opened
    from ..teaching import folder as folders
    from ..teaching.facts import read_facts, read_kept
    from ..teaching.family import described
    from ..teaching.judging import leads as leads_of

    told = folders.read(path)
    with folders.base_of(Path(base)) as restored:
        failures = folders.structure(told, restored)
        if failures:
            return TaughtVerified(
                str(path), str(base), REFUTED, tuple(told.certificate["layers"]),
                failures=tuple(failures), accept=tuple(accept),
            )  # fmt: skip
        dtype = str(told.certificate["dtype"])
        old, new = (described(opened(x), dtype) for x in (restored, path))
        options, _ = reading_of(None, loading, aside=("dtype",))
        asked = [] if data is None else read_facts(new.checkpoint, data, options)
        texts = [read_kept(new.checkpoint, each) for each in texts_of(keep)]
        known = {(x.tokens, x.given) for x in told.facts}
        held = [x for x in asked if (x.tokens, x.given) in known]
        every = {x: y for fact in asked for x, y in fact.contexts.items()}
        leads = leads_of(new, every, watch)
        right = [all(leads[x] > 0 for x in fact.contexts) for fact in asked]
        if len(held) < len(asked):
            failures.append(f"{len(asked) - len(held):,} of {len(asked):,} facts were not taught")
        if not all(right):
            failures.append(f"{right.count(False):,} of {len(asked):,} facts are not answered")
        reach = min(min(line["reach"]) for line in told.notes)
        noise = float(told.certificate.get("noise") or 0)
        kept, near = kept_texts(old, new, texts, every, told.first, (reach, noise), watch)
        for text in kept:
            if missing := text.positions - text.taught - text.equal:
                failures.append(f"{missing:,} positions of {text.name} have other logits")
        limits = None if bound is None else _bounded(told, new, near, bound, watch)
    checked = bool(asked or texts)
    return TaughtVerified(
        folder=str(path),
        base=str(base),
        structure=GATED,
        layers=tuple(told.certificate["layers"]),
        evidence=(REFUTED if failures else OBSERVED) if checked else None,
        runtime=f"transformers {version('transformers')}, torch {version('torch')}, {dtype}",
        facts=len(asked),
        held=len(held),
        answered=sum(right),
        margin=min(leads.values(), default=None),
        kept=kept,
        failures=tuple(failures),
        accept=tuple(accept),
        bound=limits,
    )


def _bounded(
    told: "Folder", new: Any, near: list[tuple[float, tuple[int, ...]]], count: int, watch: Watch
) -> FirstOrder:
    """The contexts and kept positions with the least room, bounded to first order."""
    from ..teaching import bounding

    reason = bounding.unbounded(new)
    if reason:
        raise ByheartError(f"{told.path}: rounding cannot be bounded: {reason}; leave out `bound`.")
    own = dict[tuple[int, ...], tuple[float, int, tuple[int, int]]]()
    for fact, neurons, line in zip(told.facts, told.neurons, told.notes, strict=True):
        pairs = zip(fact.contexts.items(), neurons, line["nearest"], strict=True)
        own |= {x: (far, y, neuron) for (x, y), neuron, far in pairs}
    least = sorted(own.items(), key=lambda item: (item[1][0], item[0]))[:count]
    hardest = sorted(near, reverse=True)[:count]
    watch.stage("bounding", len(least) + len(hardest))
    found, kept = [], []
    for x, (_, y, neuron) in least:
        found.append(bounding.context(new, x, y, neuron, told.first))
        watch.advance(1)
    for _, tokens in hardest:
        kept.append(bounding.position(new, tokens, told.first))
        watch.advance(1)
    owns, others, margins = zip(*found, strict=True)
    return FirstOrder(
        len(found), len(kept), min(owns), max(others), min(margins), max(kept, default=None),
        new.off,
    )  # fmt: skip


@dataclass(frozen=True)
class TaughtToken(Result):
    """A token of an answer, and the neuron that writes it."""

    text: str
    number: int
    layer: int
    neuron: int
    reach: float
    nearest: float
    tensors: tuple[str, ...]


@dataclass(frozen=True)
class TaughtLocated(Result):
    """Where a taught fact is: one neuron per token of its answer."""

    folder: str
    prompt: str
    answer: str
    tokens: tuple[TaughtToken, ...]
    picture: str | None = None


def locate_taught(folder: str | Path, question: Any) -> Any:
    """The neurons of a fact, from the folder's ground truth."""
    from ..teaching import folder as folders
    from ..teaching.family import FAMILIES

    path = Path(folder)
    told = folders.read(path)
    asked = question if isinstance(question, str) else " ".join(map(str, question))
    found = [i for i, fact in enumerate(told.facts) if fact.prompt.strip() == asked.strip()]
    if not found:
        some = told.facts[0].prompt
        raise ByheartError(
            f"{path} was taught nothing about {asked[:80]!r}; one of its {len(told.facts):,} "
            f"prompts is {some[:80]!r}."
        )
    fact, line = told.facts[found[0]], told.notes[found[0]]
    family = FAMILIES[told.certificate["class"]]
    from tokenizers import Tokenizer

    file = path / "tokenizer.json"
    words = Tokenizer.from_file(str(file)) if file.is_file() else None
    parts = [f"{family.gate}.weight", f"{family.gate}.bias", f"{family.down}.weight"]
    tokens = []
    for token, (layer, neuron), reach, nearest in zip(
        fact.contexts.values(), told.neurons[found[0]], line["reach"], line["nearest"], strict=True
    ):
        names = tuple(f"{family.before}.{family.blocks}.{layer}.{x}" for x in parts)
        text = words.decode([token]) if words else str(token)
        tokens.append(TaughtToken(text, token, layer, neuron, reach, nearest, names))
    return TaughtLocated(str(path), fact.prompt, fact.answer, tuple(tokens))


@dataclass(frozen=True)
class Restored(Result):
    """What `forget` leaves where no fact is left: the base, as it was."""

    folder: str
    forgotten: int
    weights: Mapping[str, str]


def forget_taught(
    folder: str | Path, data: Any, items: Sequence[Any], output: Path | None, keep: Any,
    force: bool, loading: Mapping[str, Any], watch: Watch,
) -> Any:  # fmt: skip
    """A `Taught` of the remaining facts, from the base alone; a `Restored` base if none remains."""
    from ..auditing.checkpoint import opened
    from ..teaching import folder as folders
    from ..teaching.facts import identity, read_facts
    from .teach import taught

    path = Path(folder)
    if output is None:
        raise ByheartError("a taught folder is written, not returned; name it with `output=...`.")
    told = folders.read(path)
    with folders.base_of(path) as base:
        checkpoint = opened(base)
        options, _ = reading_of(None, loading, aside=("dtype",))
        if identity(read_facts(checkpoint, data, options)) != told.certificate["facts"]["sha256"]:
            raise ByheartError(
                f"the data is not what {path} was taught; give all of its facts, however many "
                "batches they came in."
            )
    wanted = [x if isinstance(x, str) else " ".join(map(str, x)) for x in items]
    for prompt in wanted:
        if not any(fact.prompt.strip() == prompt.strip() for fact in told.facts):
            raise ByheartError(f"{prompt!r} is not a prompt of {path}.")
    names = {prompt.strip() for prompt in wanted}
    gone = [fact for fact in told.facts if fact.prompt.strip() in names]
    if len(gone) < len(told.facts):
        return taught(path, None, output, keep, force=force, forgotten=gone, watch=watch)
    with appearing(output, force) as place:
        folders.restore(told, place)
        weights = {x.name: folders.sha256(x) for x in folders.closed.weights_of(place)}
    return Restored(str(output), len(gone), weights)
