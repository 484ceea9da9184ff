"""Facts as a model reads them, and the positions of texts that must stay as they are."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..auditing.checkpoint import Checkpoint
from ..auditing.items import items_of
from ..data.contexts import RESOLUTIONS
from ..data.load import name_of
from ..errors import AssumptionError, ByheartError, one_of
from ..machine.strict import shown
from ..machine.tables import plural
from .running import rows_of

REFUSE, MAJORITY, _ = RESOLUTIONS
TABLE = "the text, then the label"  # the wording of a table of two columns
SHOWN = 3

Ids = tuple[int, ...]


class Fact(NamedTuple):
    """A prompt and its answer; the first `given` of the tokens are the prompt's."""

    prompt: str
    answer: str
    tokens: Ids
    given: int

    @property
    def contexts(self) -> dict[Ids, int]:
        """What each token of the answer follows."""
        return {self.tokens[:i]: self.tokens[i] for i in range(self.given, len(self.tokens))}

    @property
    def name(self) -> str:
        return shown(f"{self.prompt} {self.answer}" if self.prompt else str(list(self.tokens)))


@dataclass(frozen=True, eq=False)
class Kept:
    """A text whose positions must stay as they are."""

    name: str
    sha256: str
    rows: list[list[int]]
    cut: int = 0  # tokens behind what the model reads

    @property
    def positions(self) -> int:
        return sum(map(len, self.rows))


def read_facts(checkpoint: Checkpoint, data: Any, options: Mapping[str, Any]) -> list[Fact]:
    """The facts of a table, each in every template; ByheartError if the model cannot read one."""
    given = dict(options)
    template, answer = given.pop("template", ()), given.pop("answer", None)
    templates = (template,) if isinstance(template, str) else tuple(template or ())
    name = name_of(data)
    asked = items_of(checkpoint, data, given, templates, answer)
    if not asked.items[0].labelled:
        raise ByheartError(
            f"{name}: a fact is a prompt and its answer, and these rows have no answer; name its "
            "column with `label=...`, or give `template=...` and `answer=...`."
        )
    first = asked.wordings[0]
    if not templates and asked.texts and first.guessed and first.name != TABLE:
        raise ByheartError(
            f"{name}: the prompt is made of several columns; write it with `template=...`."
        )
    found: list[Fact] = []
    for place, items in enumerate(asked.items if templates else asked.items[:1]):
        if not items.text:
            for row, size in zip(rows_of(items), items.given.tolist(), strict=True):
                found.append(Fact("", "", tuple(row), size))
            continue
        for number, (before, after) in enumerate(asked.texts[place]):
            where = f"{name}, row {asked.rows[number]:,}"
            found.append(_spelled(checkpoint, before, after, where))
    return list(dict.fromkeys(found))


def _spelled(checkpoint: Checkpoint, before: str, after: str, where: str) -> Fact:
    """A fact as the tokenizer spells it: the prompt alone, and then the answer behind it."""
    split, unknown = checkpoint.tokenizer, getattr(checkpoint.tokenizer, "unk_token_id", None)
    prompt, whole = (
        list(map(int, split(text, add_special_tokens=False)["input_ids"]))
        for text in (before, before + after)
    )
    told = split.decode(whole, clean_up_tokenization_spaces=False)
    if not prompt or unknown in whole or told.strip() != (before + after).strip():
        raise ByheartError(
            f"{where}: the tokenizer of {checkpoint.folder} does not spell "
            f"{shown(before + after)}; it reads {shown(told)}."
        )
    if whole[: len(prompt)] != prompt or len(whole) == len(prompt):
        raise ByheartError(
            f"{where}: the tokenizer of {checkpoint.folder} joins the end of the prompt and the "
            f"answer in {shown(before + after)}; end the prompt with a whole word."
        )
    opening = checkpoint.opening
    tokens = (*opening, *whole)
    if checkpoint.limit is not None and len(tokens) > checkpoint.limit:
        raise ByheartError(
            f"{where} has {len(tokens):,} tokens, and the model reads {checkpoint.limit:,}; "
            "shorten it."
        )
    return Fact(before, after.strip(), tokens, len(opening) + len(prompt))


def read_kept(checkpoint: Checkpoint, data: Any) -> Kept:
    """The documents of a text, or the rows of a table, up to what the model reads."""
    try:
        asked = items_of(checkpoint, data, {"length": checkpoint.limit})
    except ByheartError as error:
        if "length" not in str(error):
            raise
        asked = items_of(checkpoint, data, {})
    items = asked.items[0]
    return Kept(Path(name_of(data)).name, items.sha256(), rows_of(items), items.cut)


@dataclass(frozen=True, eq=False)
class Settled:
    """Facts without conflicts, and those that are not taught, each with the reason."""

    facts: Sequence[Fact]
    left_out: Mapping[Fact, str]

    @property
    def contexts(self) -> dict[Ids, int]:
        """Every context with the token that follows, in the order of their tokens."""
        every = {x: y for fact in self.facts for x, y in fact.contexts.items()}
        return dict(sorted(every.items()))

    def without(self, reasons: Mapping[Fact, str], refusal: str | None = None) -> "Settled":
        """What is left of the facts; AssumptionError with the reasons if there is a refusal, a
        sentence with places for the facts' number and for their list, or if nothing is left."""
        if reasons and refusal is not None:
            listed = [f"{fact.name}: {reason}" for fact, reason in reasons.items()]
            more = f"; and {len(listed) - SHOWN:,} more" if len(listed) > SHOWN else ""
            facts = plural(len(listed), "fact")
            raise AssumptionError(refusal.format(facts, "; ".join(listed[:SHOWN]) + more))
        left = [fact for fact in self.facts if fact not in reasons]
        if not left:
            raise AssumptionError("no fact is left that can be taught.")
        return Settled(left, {**self.left_out, **reasons})


def settle(facts: Sequence[Fact], kept: Sequence[Kept], rule: str) -> Settled:
    """The facts that agree with one another and with the kept texts.

    A fact whose context is one of a kept text and goes on otherwise there is in conflict with it.
    """
    one_of(RESOLUTIONS, on_conflict=rule)
    following: dict[Ids, Counter[int]] = defaultdict(Counter)
    for fact in facts:
        for context, token in fact.contexts.items():
            following[context][token] += 1
    stays: dict[Ids, tuple[set[int], str]] = {}
    lengths = {len(context) for context in following}
    for text in kept:
        for row in text.rows:
            for size in lengths:
                context = tuple(row[:size])
                if size <= len(row) and context in following:
                    after = stays.setdefault(context, (set(), text.name))[0]
                    after.add(row[size] if size < len(row) else -1)
    reasons: dict[Fact, str] = {}
    for fact in facts:
        for context, token in fact.contexts.items():
            counts = following[context]
            if context in stays and stays[context][0] != {token}:
                where = stays[context][1]
                reasons.setdefault(fact, f"{where} has its prompt and goes on otherwise")
            elif len(counts) > 1 and (rule != MAJORITY or token != counts.most_common(1)[0][0]):
                reasons.setdefault(fact, "another fact has its prompt and another answer")
    refusal = f"{{}} of {len(facts):,} cannot be taught ({{}}); leave them out with "
    refusal += "`on_conflict='drop'`."
    return Settled(facts, {}).without(reasons, refusal if rule == REFUSE else None)


def identity(facts: Sequence[Fact]) -> str:
    """The SHA-256 of facts, in any order."""
    digest = hashlib.sha256(b"byheart-facts-1\n")
    for fact in sorted(facts, key=lambda x: (x.tokens, x.given)):
        digest.update(f"{fact.given}:{','.join(map(str, fact.tokens))}\n".encode())
    return digest.hexdigest()
