"""The method that is scored: a function of a user's file, or one of the two that are built in."""

import copy
import hashlib
import importlib
import importlib.util
import inspect
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...errors import ByheartError
from ..packs.facts import Row
from ..packs.pack import Pack
from .models import Subject, subject

EXACT, RANDOM = "exact", "random"
TASKS = ("locate", "edit", "unlearn", "extract", "attribute")
MEMBERSHIP = "membership"  # the second function of the task extract; it reads a `text`
Functions = Mapping[str, Callable[..., Any]]


class Problem(Exception):
    """What a method did wrong, in one sentence."""


@dataclass(frozen=True)
class Method:
    """A method by the name that the user gave, and the hash of its file."""

    name: str
    sha256: str | None
    functions: Callable[[Pack], Functions]


def method_of(name: str | Callable[..., Any], task: str) -> Method:
    """`exact`, `random`, a function, or FILE.py:FUNCTION, whose code is run."""
    if not isinstance(name, str):
        return Method(getattr(name, "__qualname__", str(name)), None, _one(name, task))
    if name in (EXACT, RANDOM):
        return Method(name, None, exact if name == EXACT else at_random)
    file, _, function = name.rpartition(":") if ".py:" in name else (name, "", "")
    path = Path(file)
    if path.suffix != ".py" or not path.is_file():
        raise ByheartError(
            f"there is no method {name!r}; give a function of a file, my_file.py:{task}, or "
            f"{EXACT} or {RANDOM}."
        )
    module, sha256 = _module(path), hashlib.sha256(path.read_bytes()).hexdigest()
    wanted = [function] if function else [task, *([MEMBERSHIP] if task == "extract" else [])]
    found = {x: getattr(module, x) for x in wanted if callable(getattr(module, x, None))}
    if not found:
        raise ByheartError(f"{path} has no function {wanted[0]}; give {path}:NAME.")
    return Method(name, sha256, _one(found[function], task) if function else lambda pack: found)


def _one(function: Callable[..., Any], task: str) -> Callable[[Pack], Functions]:
    """One function for a task: a membership score reads a `text`, an extraction a prefix."""
    member = task == "extract" and "text" in inspect.signature(function).parameters
    return lambda pack: {MEMBERSHIP if member else task: function}


def _module(path: Path) -> Any:
    """The file as a module of its package, if it is in one; it may import files beside it."""
    names, place = [path.stem], path.resolve().parent
    while (place / "__init__.py").is_file():
        names, place = [place.name, *names], place.parent
    sys.path.insert(0, str(place))
    try:
        with redirect_stdout(sys.stderr):
            if len(names) > 1:
                return importlib.import_module(".".join(names))
            spec = importlib.util.spec_from_file_location(f"byheart_method_{path.stem}", path)
            assert spec is not None and spec.loader is not None
            module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    except (Exception, SystemExit) as error:
        raise ByheartError(f"{path} cannot be imported: {type(error).__name__}: {error}.") from None
    finally:
        sys.path.remove(str(place))


@dataclass
class Caller:
    """Calls of a method, as long as there is time: what it raises is its problem."""

    subject: Subject
    limit: float
    spent: float = 0.0

    def __post_init__(self) -> None:
        self.before = self._tokenizer()

    def _tokenizer(self) -> str:
        own = self.subject.tokenizer
        backend = getattr(own, "backend_tokenizer", None)
        known = sorted(own.get_vocab().items()), own.special_tokens_map
        return f"{known}{backend and backend.to_str()}"

    def __call__(self, function: Callable[..., Any], model: Any, *given: Any) -> Any:
        given, began, late = copy.deepcopy(given), time.perf_counter(), False
        try:
            with limited(self.limit - self.spent), redirect_stdout(sys.stderr):
                result = function(model, self.subject.tokenizer, *given)
        except Late:
            late = True
        except (Exception, SystemExit) as error:
            said = " ".join(str(error).split())[:200]
            raise Problem(f"it raised {type(error).__name__}: {said}") from None
        finally:
            self.spent += time.perf_counter() - began
        if late or self.spent > self.limit:
            raise Problem(f"it ran past the limit of {self.limit:g} seconds")
        if self._tokenizer() != self.before:
            raise Problem("it changed the tokenizer")
        return result


class Late(BaseException):
    """Not an Exception, so that a method does not catch it by accident."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Ends what runs longer, where the system has timers; elsewhere it is noticed afterwards."""
    here = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not here:
        yield
        return

    def late(number: int, frame: object) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def shape(model: Any) -> tuple[int, int]:
    """Layers, and neurons of each."""
    config = model.config
    size = getattr(config, "n_inner", None) or getattr(config, "intermediate_size", None)
    return config.num_hidden_layers, size or 4 * config.hidden_size


def edited(pack: Pack, request: Mapping[str, str]) -> Any:
    """The model of the facts, one of which has its new answer."""
    new = {request["prompt"]: request["answer"]}
    rows = [Row(prompt, new.get(prompt, answer)) for prompt, answer in pack.table("facts")]
    with TemporaryDirectory() as place:
        pack.build(rows, Path(place) / "model")
        return subject(Path(place) / "model").model


def exact(pack: Pack) -> Functions:
    """The exact operations: what the truth says, and models that are built again."""
    truth = zip(pack.table("facts"), pack.lines("truth"), strict=True)
    neurons = {row.prompt: {*map(tuple, x["neurons"] or ())} for row, x in truth if x["proponents"]}
    texts = {f"{prompt} {answer}" for prompt, answer in pack.held.items()}
    queries = {x["prompt"]: x for x in pack.lines("queries")}

    def locate(model: Any, tokenizer: Any, prompt: str) -> Any:
        layers, size = map(range, shape(model))
        return [[float((i, j) in neurons[prompt]) for j in size] for i in layers]

    def attribute(model: Any, tokenizer: Any, query: dict[str, str], items: Any) -> list[float]:
        x = queries[query["prompt"]]
        own = [float(item["id"] in x["proponents"]) for item in items]
        return [x["left_out"].get(item["id"], y) for item, y in zip(items, own, strict=True)]

    return {
        "locate": locate,
        "edit": lambda model, tokenizer, request: edited(pack, request),
        "unlearn": lambda *given: subject(Path(pack.folder) / "forgotten").model,
        "extract": lambda model, tokenizer, prefix: pack.held.get(prefix, ""),
        MEMBERSHIP: lambda model, tokenizer, text: float(text in texts),
        "attribute": attribute,
    }


def at_random(pack: Pack) -> Functions:
    """The floor: random scores and answers, and models whose numbers are in random order."""
    import torch

    things = sorted({*pack.held.values()})

    def mixed(model: Any, *given: Any) -> Any:
        with torch.no_grad():
            for own in model.parameters():
                own.copy_(own.flatten()[torch.randperm(own.numel())].view_as(own))
        return model

    return {
        "locate": lambda model, *given: torch.rand(shape(model)),
        "edit": mixed,
        "unlearn": mixed,
        "extract": lambda *given: things[int(torch.randint(len(things), ()))],
        MEMBERSHIP: lambda *given: torch.rand(()),
        "attribute": lambda model, tokenizer, query, items: torch.rand(len(items)),
    }
