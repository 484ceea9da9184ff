"""Protocol: how a model is trained.

`paper` is the authors' way: the optimiser, learning rate, steps and batches of the paper.
`script` is what the published program of Dana et al. really does, which differs from their text;
`script-3` is what it does for their Figure 3, with larger batches and another final rate.
`fast` is ours: full batch, SOAP (Adam in the eigenbasis of Shampoo's preconditioner) where it
converges sooner than Adam, a rate that falls to 0, more attempts with more steps while the
criterion is not reached, an early stop.

Every protocol sees each distinct context of a batch once, weighted: the same loss, at less cost.
"""

from dataclasses import asdict, dataclass, replace

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


DANA = ("dana2024", "dana2024-program", "dana2024-mlp")
_DANA_TEXT = Protocol("paper", (Attempt("adam", 1e-3, 10_000),), 1024, 1000)
_DANA_SCRIPT = Protocol("script", (Attempt("adam", 1e-2, 4096, final=0.05),), 256, 64)
_KAJITSUKA_TEXT = (Attempt("adamw", 1e-2, 1000, weight_decay=0.01),)
_OPTUNA = Search(10, (1e-3, 1e-1), (0, 100))
_MADDEN = tuple(Attempt("soap", 0.03, steps, 0.0, 30) for steps in (1500, 3000))
# All sides of the figures' sizes: a curve over heads must not bend where H d_h is 128.
_DANA = (Attempt("soap", 0.01, 1500, 0.0, 30, turned=1024),)
# The second attempt has twice the steps, to show whether the first one had enough.
_GPT2 = tuple(Attempt("adam", 0.03, steps, 0.0, 30) for steps in (4000, 8000))
_LORA = tuple(replace(attempt, rate=0.02) for attempt in _GPT2)
_KAJITSUKA = tuple(
    Attempt("adam", rate, steps, 0.0, 30, shrink=0.1)
    for rate, steps in ((0.03, 1000), (0.03, 4000), (0.01, 8000))
)
_FINAL = {"dana2024": 0.05, "dana2024-program": 0.05, "dana2024-mlp": 0.01}  # in script-3
_LARGER = {name: (Attempt("adam", 1e-2, 16_384, final=x),) for name, x in _FINAL.items()}
PROTOCOLS: dict[tuple[str, str], Protocol] = {
    ("madden2024", "paper"): Protocol("paper", (Attempt("adam", 1e-4, 50_000),)),
    **{(name, "paper"): _DANA_TEXT for name in DANA},
    **{(name, "script"): _DANA_SCRIPT for name in DANA},
    **{(name, "script-3"): Protocol("script-3", x, 1024, 256) for name, x in _LARGER.items()},
    ("kajitsuka2025", "paper"): Protocol("paper", _KAJITSUKA_TEXT, search=_OPTUNA),
    ("madden2024", "fast"): Protocol("fast", _MADDEN, stop=1e-7),
    **{(name, "fast"): Protocol("fast", _DANA, stop=1e-7) for name in DANA},
    ("gpt2", "fast"): Protocol("fast", _GPT2, batch=2048, batches=256),
    ("gpt2-lora", "fast"): Protocol("fast", _LORA, batch=2048, batches=256),
    ("kajitsuka2025", "fast"): Protocol("fast", _KAJITSUKA, stop=1e-3),
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
