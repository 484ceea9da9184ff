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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...errors import ByheartError
from ..packs.pack import Pack
from .models import Subject, subject

EXACT, RANDOM = "exact", "random"
TASKS = ("locate", "edit", "unlearn", "extract", "attribute")
MEMBERSHIP = "membership"  # the second function of the task extract; it reads a `text`
Functions = dict[str, Callable[..., Any]]


class Problem(Exception):
    """What a method did wrong, in one sentence."""


@dataclass(frozen=True)
class Method:
    """A method by the name that the user gave, and the hash of its file."""

    name: str
    sha256: str | None
    make: Callable[[Pack, Subject, int], Functions]  # of a pack and a seed


def method_of(name: str, task: str) -> Method:
    """`exact`, `random` or FILE.py:FUNCTION, whose code is run; ByheartError if there is none."""
    if name in (EXACT, RANDOM):
        chosen = exact if name == EXACT else at_random
        return Method(name, None, chosen)
    file, _, function = name.rpartition(":") if ".py:" in name else (name, "", "")
    path = Path(file)
    if path.suffix != ".py" or not path.is_file():
        raise ByheartError(
            f"there is no method {name!r}; give a function of a file, my_file.py:{task}, or "
            f"{EXACT} or {RANDOM}."
        )
    content = path.read_bytes()
    wanted = [function] if function else [task, MEMBERSHIP] if task == "extract" else [task]
    module = _module(path)
    functions = {x: getattr(module, x) for x in wanted if callable(getattr(module, x, None))}
    if not functions:
        raise ByheartError(f"{path} has no function {wanted[0]}; give {path}:NAME.")
    own = named(functions[function], task) if function else lambda *_: functions
    return Method(name, hashlib.sha256(content).hexdigest(), own)


def named(function: Callable[..., Any], task: str) -> Callable[..., Functions]:
    """One function for a task: a membership score reads a `text`, an extraction a prefix."""
    member = task == "extract" and "text" in inspect.signature(function).parameters
    return lambda *_: {MEMBERSHIP if member else task: function}


def _module(path: Path) -> Any:
    """The file as a module; files beside it, or those of its package, can be imported by it."""
    root, parts = path.resolve().parent, [path.stem]
    while (root / "__init__.py").is_file():
        root, parts = root.parent, [root.name, *parts]
    sys.path.insert(0, str(root))
    try:
        if len(parts) > 1:
            return importlib.import_module(".".join(parts))
        name = f"byheart_method_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except Exception as error:
        raise ByheartError(f"{path} cannot be imported: {type(error).__name__}: {error}.") from None
    finally:
        sys.path.remove(str(root))


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
        began = time.perf_counter()
        try:
            with _limited(self.limit - self.spent):
                result = function(model, self.subject.tokenizer, *copy.deepcopy(given))
        except _Late:
            raise Problem(f"it ran past the limit of {self.limit:g} seconds") from None
        except Exception as error:
            said = " ".join(str(error).split())[:200]
            raise Problem(f"it raised {type(error).__name__}: {said}") from None
        finally:
            self.spent += time.perf_counter() - began
        if self.spent > self.limit:
            raise Problem(f"it ran past the limit of {self.limit:g} seconds")
        if self._tokenizer() != self.before:
            raise Problem("it changed the tokenizer")
        return result


class _Late(BaseException):
    """Not an Exception, so that a method does not catch it by accident."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Ends what runs longer, where the system has timers; elsewhere it is noticed afterwards."""
    here = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not here:
        yield
        return

    def late(number: int, frame: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def exact(pack: Pack, asked: Subject, seed: int) -> Functions:
    """The exact operations: what the truth says, and models that are built again."""
    truth, rows = pack.lines("truth"), pack.rows
    neurons = {
        row.prompt: x["neurons"] for row, x in zip(rows, truth, strict=True) if x["proponents"]
    }
    texts = {f"{prompt} {answer}" for prompt, answer in pack.held.items()}
    queries = {x["prompt"]: x for x in pack.lines("queries")}

    def locate(model: Any, tokenizer: Any, prompt: str) -> Any:
        own = {(layer, neuron) for layer, neuron in neurons[prompt]}
        layers, size = shape(model)
        return [[float((i, j) in own) for j in range(size)] for i in range(layers)]

    def edit(model: Any, tokenizer: Any, request: dict[str, str]) -> Any:
        return edited(pack, request)

    def unlearn(model: Any, tokenizer: Any, forget: Any, retain: Any) -> Any:
        return subject(Path(pack.folder) / "forgotten").model

    def extract(model: Any, tokenizer: Any, prefix: str) -> str:
        return pack.held.get(prefix, "")

    def membership(model: Any, tokenizer: Any, text: str) -> float:
        return float(text in texts)

    def attribute(model: Any, tokenizer: Any, query: dict[str, str], items: Any) -> list[float]:
        known = queries[query["prompt"]]
        return [
            known["left_out"].get(x["id"], 0.0) + float(x["id"] in known["proponents"])
            for x in items
        ]

    return {x.__name__: x for x in (locate, edit, unlearn, extract, membership, attribute)}


def edited(pack: Pack, request: dict[str, str]) -> Any:
    """The model of the facts, one of which has its new answer."""
    with TemporaryDirectory() as place:
        pack.build(pack.edited_rows({request["prompt"]: request["answer"]}), Path(place) / "m")
        return subject(Path(place) / "m").model


def at_random(pack: Pack, asked: Subject, seed: int) -> Functions:
    """The floor: random scores and answers, and models whose numbers are in random order."""
    import torch

    things = sorted({answer for _, answer in pack.rows})

    def locate(model: Any, tokenizer: Any, prompt: str) -> Any:
        return torch.rand(shape(model)).tolist()

    def edit(model: Any, tokenizer: Any, request: dict[str, str]) -> Any:
        with torch.no_grad():
            for own in model.parameters():
                own.copy_(own.flatten()[torch.randperm(own.numel())].view_as(own))
        return model

    def unlearn(model: Any, tokenizer: Any, forget: Any, retain: Any) -> Any:
        return edit(model, tokenizer, {})

    def extract(model: Any, tokenizer: Any, prefix: str) -> str:
        return things[int(torch.randint(len(things), ()))]

    def membership(model: Any, tokenizer: Any, text: str) -> float:
        return float(torch.rand(()))

    def attribute(model: Any, tokenizer: Any, query: dict[str, str], items: Sequence[Any]) -> Any:
        return torch.rand(len(items)).tolist()

    return {x.__name__: x for x in (locate, edit, unlearn, extract, membership, attribute)}


def shape(model: Any) -> tuple[int, int]:
    """Layers, and neurons of each."""
    config = model.config
    size = getattr(config, "n_inner", None) or getattr(config, "intermediate_size", None)
    return config.num_hidden_layers, size or 4 * config.hidden_size
