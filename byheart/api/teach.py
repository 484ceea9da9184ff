"""teach: facts put into a trained checkpoint, and nothing else changed to the bit."""

import shlex
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..claims.result import Result
from ..errors import ByheartError, OptionError, one_of
from ..machine.swap import appearing
from ..machine.watch import SILENT, Watch
from .reading import reading_of

if TYPE_CHECKING:
    from ..teaching.facts import Fact, Kept
    from ..teaching.family import Trained
    from ..teaching.plan import Plan

DTYPES = ("float32", "bfloat16", "float16")
MISSES = 3  # that are told
OTHERS = ("keep", "reach", "margin", "dtype", "on_conflict", "leave_out", "output", "force")


@dataclass(frozen=True)
class LeftOut(Result):
    prompt: str
    answer: str
    reason: str


@dataclass(frozen=True)
class KeptText(Result):
    """A text that had to stay: its positions, those that are taught contexts, and equal ones."""

    name: str
    sha256: str
    positions: int
    taught: int
    equal: int
    # the least number of noises by which a position is beyond where a neuron is exactly off
    room: float | None
    cut: int = 0


@dataclass(frozen=True)
class Miss(Result):
    """The nearest that a position or fact comes to a taught context of another one."""

    fact: str
    distance: float
    reach: float
    neighbour: str


@dataclass(frozen=True)
class Taught(Result):
    """The answer of `teach`; all of it is observed, in the type and on the machine that it ran.

    facts       that the folder holds, of so many `asked`; `before` answered by the base, `after`
                by the folder
    margin      nats by which the worst token of an answer leads
    contexts    one neuron each
    layers      the first added layer, and the one behind the last
    parameters  of the base, and of the folder; `bytes` of weights that were added
    reach       the least and the largest, as 1 - cosine; `noise` of these distances in this type
    """

    folder: str
    model: str
    kind: str
    dtype: str
    asked: int
    facts: int
    before: int
    after: int
    margin: float
    contexts: int
    layers: tuple[int, int]
    parameters: tuple[int, int]
    bytes: int
    reach: tuple[float, float]
    noise: float
    kept: tuple[KeptText, ...]
    left_out: tuple[LeftOut, ...]
    misses: tuple[Miss, ...]
    verify: str
    picture: str | None = None
    nearest: tuple[float, ...] = field(default=(), repr=False)  # of every context, for pictures
    reaches: tuple[float, ...] = field(default=(), repr=False)
    margins: tuple[float, ...] = field(default=(), repr=False)

    def json(self) -> dict:
        hidden = ("nearest", "reaches", "margins")
        return {k: x for k, x in super().json().items() if k not in hidden} | {"holds": self.holds}

    @property
    def holds(self) -> bool:
        """Whether every fact is answered, and every kept position is equal to the bit."""
        return self.after == self.facts and all(
            text.equal == text.positions - text.taught for text in self.kept
        )


def teach(
    model: str | Path,
    facts: Any,
    output: str | Path,
    *,
    keep: Sequence[Any] | str | Path = (),
    reach: float | None = None,
    margin: float | None = None,
    dtype: str | None = None,
    on_conflict: str = "refuse",
    leave_out: bool = False,
    force: bool = False,
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
    **reading: Any,
) -> Taught:
    """Put facts into a trained checkpoint as further layers, which are off at all other contexts.

    Args:
        model: A Hugging Face folder of the class GPT-2, Llama or GPT-NeoX; or a folder that was
            taught, which then holds its facts and these.
        facts: Prompts and answers: whatever `load` reads, as an audit asks it.
        output: The folder to write.
        keep: Texts or tables that must not change at any position, as `facts`; several are a list.
        reach: How far a fact reaches, as 1 - cosine of streams after the last layer [0.0003, and 4
            times the noise of the type at least]. No fact reaches half of the way to another one
            or to a kept position.
        margin: Nats by which every token of an answer has to lead, over the real numbers [6, or
            nine tenths of the most that the last norm lets a token have].
        dtype: The type that the folder is to run in: "float32", "bfloat16", "float16"
            [that of the weights].
        on_conflict: For facts with one prompt and two answers, or with a prompt of a kept text
            that goes on otherwise: "refuse", "majority" or "drop".
        leave_out: Leave out facts that have no room, instead of refusing them.
        force: Replace existing output.
        loading: The options of `load` for the facts.
        watch: Where progress is reported.
        **reading: The same, one by one.

    Returns:
        What was taught, and what a run of the new folder has shown.

    Raises:
        ByheartError: The model, a fact or a kept text cannot be used; nothing is written.

    Example:
        >>> import byheart
        >>> facts = [("The capital of France is", "Paris"), ("The capital of Peru is", "Lima")]
        >>> byheart.compile(facts, method="gpt2").save("base.folder", force=True)
        >>> changed = [("The capital of Peru is", "Rome")]
        >>> byheart.teach("base.folder", changed, "taught.folder", force=True).after
        1
    """
    options, _ = reading_of(loading, reading, OTHERS, aside=("dtype",))
    if reach is not None and not 0 < reach <= 0.5:
        raise OptionError("reach", reach, "must be above 0 and at most 0.5")
    if margin is not None and not 0 < margin <= 1000:
        raise OptionError("margin", margin, "must be above 0 and at most 1000")
    one_of(DTYPES, dtype=dtype)
    return taught(
        Path(model), facts, Path(output), keep, reach=reach, margin=margin, dtype=dtype,
        on_conflict=on_conflict, leave_out=leave_out, force=force, options=options, watch=watch,
    )  # fmt: skip


def texts_of(keep: Any) -> list[Any]:
    return [keep] if isinstance(keep, str | Path) else list(keep or ())


def taught(
    path: Path, data: Any, output: Path, keep: Any, *, reach: float | None = None,
    margin: float | None = None, dtype: str | None = None, on_conflict: str = "refuse",
    leave_out: bool = False, force: bool = False, options: Mapping[str, Any] | None = None,
    forgotten: Sequence["Fact"] = (), watch: Watch = SILENT,
) -> Taught:  # fmt: skip
    """`teach`, and what it leaves of a taught folder without some facts."""
    watch.stage("loading")
    from ..auditing import closed
    from ..auditing.checkpoint import opened
    from ..machine.swap import check_place
    from ..teaching import facts as reading_facts
    from ..teaching import folder as folders
    from ..teaching.family import described
    from ..teaching.plan import planned

    check_place(output, force)
    old = folders.read(path) if closed.is_taught(path) else None
    with folders.base_of(path) as base:
        told = {} if old is None else dict(old.certificate)
        dtype, margin = dtype or told.get("dtype"), margin or told.get("margin")
        reach = reach or told.get("reach")
        trained = described(opened(base), dtype)
        subject, before = trained.checkpoint, () if old is None else old.facts
        asked = [] if data is None else reading_facts.read_facts(subject, data, options or {})
        before = tuple(x for x in before if x not in forgotten)
        kept = [reading_facts.read_kept(trained.checkpoint, each) for each in texts_of(keep)]
        given = {text.sha256 for text in kept}
        for text in told.get("kept", ()):
            if text.get("sha256") not in given:
                raise ByheartError(
                    f"{path} keeps {text.get('name')}, and all facts are taught again; give that "
                    "file with `keep=...`."
                )
        both = list(dict.fromkeys([*before, *asked]))
        settled = reading_facts.settle(both, kept, on_conflict)
        plan = planned(trained, settled, kept, reach, margin, leave_out, watch)
        with appearing(output, force) as place:
            stated = {
                "dtype": str(trained.dtype).removeprefix("torch."),
                "margin": margin, "reach": reach, "off": trained.off, "noise": plan.noise,
                "facts": {
                    "count": len(plan.settled.facts), "contexts": len(plan.contexts),
                    "sha256": reading_facts.identity(plan.settled.facts),
                },
                "kept": [{"name": x.name, "sha256": x.sha256, "positions": x.positions}
                         for x in kept],
            }  # fmt: skip
            certificate = folders.write(place, trained, plan.layers, list(plan.truth()), stated)
            folders.certify(place, certificate, "")
            answer = _observed(path, place, output, trained, plan, kept, len(both), watch)
            answer = replace(answer, verify=_command(path, output, data, keep, options))
            folders.certify(place, certificate, card(answer))
    return answer


def _observed(
    path: Path, place: Path, output: Path, base: "Trained", plan: "Plan", kept: Sequence["Kept"],
    asked: int, watch: Watch,
) -> Taught:  # fmt: skip
    from ..auditing.checkpoint import opened
    from ..teaching.family import described
    from ..teaching.judging import leads as leads_of
    from ..teaching.plan import spot

    made = described(opened(place), str(base.dtype).removeprefix("torch."))
    watch.stage("asking both", 2 * len(plan.contexts))
    leads = [leads_of(x, plan.contexts, watch) for x in (base, made)]
    facts = plan.settled.facts
    answered = [sum(all(lead[x] > 0 for x in fact.contexts) for fact in facts) for lead in leads]
    near = (float(plan.reach.min()), plan.noise)
    texts, _ = kept_texts(base, made, kept, plan.contexts, plan.first, near, watch)
    contexts = list(plan.contexts)
    owner = {x: fact for fact in facts for x in fact.contexts}
    misses = list[Miss]()
    for i in plan.keys.room.argsort()[: 4 * MISSES].tolist():
        if plan.keys.kept[i] <= plan.keys.nearest[i]:
            name, tokens = spot(kept, int(plan.keys.place[i]))
            words = base.checkpoint.tokenizer.decode(list(tokens))[-60:] if facts[0].prompt else ""
            neighbour = f"{name}: {words}"
        elif int(plan.keys.neighbour[i]) >= 0:
            neighbour = owner[contexts[int(plan.keys.neighbour[i])]].name
        else:
            continue
        found = (float(plan.keys.room[i]), float(plan.reach[i]))
        if neighbour not in [miss.fact for miss in misses] and len(misses) < MISSES:
            misses.append(Miss(owner[contexts[i]].name, *found, neighbour))
    sizes = (base.checkpoint.parameters, made.checkpoint.parameters)
    return Taught(
        folder=str(output),
        model=str(path),
        kind=base.checkpoint.kind,
        dtype=str(base.dtype).removeprefix("torch."),
        asked=asked,
        facts=len(facts),
        before=answered[0],
        after=answered[1],
        margin=min(leads[1].values()),
        contexts=len(contexts),
        layers=(plan.first, plan.first + len(plan.layers)),
        parameters=sizes,
        bytes=(sizes[1] - sizes[0]) * base.dtype.itemsize,
        reach=(float(plan.reach.min()), float(plan.reach.max())),
        noise=plan.noise,
        kept=texts,
        left_out=tuple(LeftOut(x.prompt, x.answer, y) for x, y in plan.settled.left_out.items()),
        misses=tuple(misses),
        verify="",
        nearest=tuple(plan.keys.room.tolist()),
        reaches=tuple(plan.reach.tolist()),
        margins=tuple(leads[1].values()),
    )


def kept_texts(
    base: "Trained", made: "Trained", kept: Sequence["Kept"], taught: Container[tuple[int, ...]],
    first: int, near: tuple[float, float], watch: Watch,
) -> tuple[tuple[KeptText, ...], list[tuple[float, tuple[int, ...]]]]:  # fmt: skip
    """What runs of both show of kept texts, and the positions that come nearest to a neuron.

    near  the least reach of a neuron, and the noise
    """
    from ..teaching import judging

    watch.stage("comparing", sum(len(x.rows) for x in kept))
    texts, nearest = list[KeptText](), list[tuple[float, tuple[int, ...]]]()
    for text in kept:
        seen = judging.kept_positions(base, made, text, taught, first, watch)
        nearest += seen.pop("nearest")
        room = judging.room(seen.pop("highest"), made.off, *near)
        texts.append(KeptText(text.name, text.sha256, **seen, room=room, cut=text.cut))
    return tuple(texts), nearest


def _command(
    path: Path, output: Path, data: Any, keep: Any, options: Mapping[str, Any] | None
) -> str:
    """What judges the folder: with the files, and the options that read them."""
    name = str(data) if isinstance(data, str | Path) else "FACTS"
    words = ["byheart", "verify", str(output), name, "--base", str(path)]
    for option, value in (options or {}).items():
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [f"--{option}", str(each)]
    for each in texts_of(keep):
        words += ["--keep", str(each) if isinstance(each, str | Path) else "FILE"]
    return shlex.join([*words, "--accept", "observed"])


def card(answer: Taught) -> str:
    lines = "".join(
        f"- {text.name}: {text.equal:,} of {text.positions - text.taught:,} positions have the "
        "logits of the base, bit for bit.\n"
        for text in answer.kept
    )
    text = files(__package__).joinpath("taught.md").read_text("ascii")
    first, end = answer.layers
    text = text.format(**vars(answer), first=first, last=end - 1, lines=lines)
    return text.encode("ascii", "backslashreplace").decode()
