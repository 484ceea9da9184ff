"""Protocol: how a model is trained.

`paper` is the authors' way: the optimiser, learning rate, steps and batches of the paper.
`script` is what the published program of Dana et al. really does, which differs from their text;
`script-3` is what it does for their Figure 3, with larger batches and another final rate.
`fast` is ours: full batch, SOAP (Adam in the eigenbasis of Shampoo's preconditioner) where it
converges sooner than Adam, a rate that falls to 0, more attempts with more steps while the
criterion is not reached, an early stop.

Every protocol sees each distinct context of a batch once, weighted: the same loss, at less cost.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..architectures.trainable import trainable
from ..errors import ByheartError

# The longest side of a matrix that SOAP turns, unless an attempt has its own. It leaves the
# vocabulary of stories as it is, so that a step costs less.
LONGEST_SIDE = 128
MOST_STEPS = 10**8  # months


@dataclass(frozen=True)
class Attempt:
    """One training from a new start."""

    optimiser: str  # "adam", "adamw" or "soap"
    rate: float  # the learning rate after the warm-up
    steps: int
    final: float = 1.0  # the share of it that is left after the last step: the rate falls linearly
    warmup: int = 0  # steps in which it grows linearly from 0
    weight_decay: float = 0.0
    shrink: float = 1.0  # factor on the initial weights of residual branches
    turned: int = LONGEST_SIDE  # the longest side of a matrix that SOAP turns

    def json(self) -> dict:
        """Its fields; `turned` only where it is not the usual one."""
        return {k: x for k, x in asdict(self).items() if (k, x) != ("turned", LONGEST_SIDE)}


@dataclass(frozen=True)
class Search:
    """Hyper-parameters that Optuna chooses: ranges of the rate (log-uniform) and the warm-up."""

    trials: int
    rate: tuple[float, float]
    warmup: tuple[int, int]


@dataclass(frozen=True)
class Protocol:
    """Attempts, one after another until one reaches the criterion."""

    name: str
    attempts: tuple[Attempt, ...]
    batch: int | None = None  # predictions in a batch (of whole sequences for GPT-2); None: all
    batches: int | None = None  # how many batches are drawn before training and then used in turn
    # training ends when the mean loss is this close to the least possible and the criterion is
    # reached, None: never; an accuracy is judged by the criterion alone, now and then
    stop: float | None = None
    curve: int = 0  # about how many points of the training curve are kept
    search: Search | None = None  # of the first attempt: the best rate and warm-up count
    frozen: tuple[str, ...] = ()  # tensors that keep their initial values, and count as parameters

    def json(self) -> dict:
        return {**asdict(self), "attempts": [attempt.json() for attempt in self.attempts]}


def read(fields: Mapping[str, Any]) -> Protocol:
    """The protocol that has these fields as JSON or TOML has them."""
    search, attempts = fields.get("search"), tuple(Attempt(**x) for x in fields["attempts"])
    if search is not None:
        search = Search(search["trials"], tuple(search["rate"]), tuple(search["warmup"]))
    own = {"attempts": attempts, "frozen": tuple(fields.get("frozen", ())), "search": search}
    return Protocol(**{**fields, **own})


_TABLE = tomllib.loads(Path(__file__).with_name("protocols.toml").read_text("ascii"))
PROTOCOLS = {
    (architecture, fields["name"]): read(fields)
    for fields in _TABLE["protocols"]
    for architecture in fields.pop("architectures")
}


def protocol(architecture: str, name: str, steps: int | None = None) -> Protocol:
    """The protocol of this name for an architecture; `steps` replaces those of each attempt.

    Where attempts are compared to show a plateau, they are the steps of the first one, and the
    others keep their ratio to it.
    """
    names = [own for arch, own in PROTOCOLS if arch == architecture]
    if name not in names:
        raise ByheartError(f"{architecture} has the protocols {', '.join(names)}, not {name!r}.")
    chosen = PROTOCOLS[architecture, name]
    if steps is None:
        return chosen
    if not 1 <= steps <= MOST_STEPS:
        raise ByheartError(f"`steps` must be 1 to {MOST_STEPS:,}, not {steps:,}.")
    first = chosen.attempts[0].steps if trainable(architecture).capacity else None
    attempts = [
        replace(x, steps=steps if first is None else steps * x.steps // first)
        for x in chosen.attempts
    ]
    return replace(chosen, attempts=tuple(attempts))
