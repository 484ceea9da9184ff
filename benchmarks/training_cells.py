"""What benchmarks/training.py compares: the same training, as byheart does it and in plain PyTorch.

A cell is one model on one dataset. Both sides start with the same weights, take the same batches in
the same order, and step with the same optimiser at the same rate.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.plain_torch import Batch, Training, dana2024, kajitsuka2025, madden2024
from byheart.architectures import architecture
from byheart.data.contexts import contexts
from byheart.data.corpora import prefix_tree, zipf
from byheart.data.load import from_rows, load, load_documents
from byheart.data.targets import targets
from byheart.lab.learners import Learner, learner
from byheart.lab.problem import Problem, labelled, next_token
from byheart.lab.protocol import PROTOCOLS, Attempt
from byheart.lab.train import optimiser_of

DATA = Path(__file__).parents[2] / "shared" / "data"
STORIES, SENTENCES = DATA / "tinystories.txt", DATA / "mnli.tsv"
LENGTH = 10  # tokens of a story
WORDS = 8  # of a sentence
PLAIN = {
    "madden2024": madden2024,
    "dana2024": dana2024,
    "dana2024-program": dana2024,
    "dana2024-mlp": dana2024,
    "kajitsuka2025": kajitsuka2025,
}
Pair = tuple[Problem, Batch]  # a batch for us, and the same for plain PyTorch


@dataclass(frozen=True)
class Cell:
    """A model and its data.

    architecture  its name, with `sizes` that the data does not decide
    rows          stories, tokens of the vocabulary whose pairs are learnt, or sentences
    protocol      whose optimiser, rate and batches count
    uses          how often a batch is used before the next: layouts that we keep for a batch are
                  made anew for each; None: there is one batch, all of the data
    """

    architecture: str
    sizes: Mapping[str, int]
    rows: int
    protocol: str = "paper"
    uses: int | None = field(default=None)

    @property
    def attempt(self) -> Attempt:
        return PROTOCOLS[self.architecture, self.protocol].attempts[0]


class Ours:
    """A learner with its optimiser and its batches, which are used in turn."""

    def __init__(self, model: Learner, attempt: Attempt, batches: Sequence[Problem]) -> None:
        self.model, self.batches = model, cycle(batches)
        self.optimiser = optimiser_of(attempt, list(model.tensors.values()))

    def step(self) -> float:
        """One step; the loss before it."""
        loss = self.model.step(next(self.batches))
        self.optimiser.step()
        return loss


def sides(cell: Cell, pairs: Sequence[Pair]) -> tuple[Ours, Training]:
    """Both trainings of a cell, from the same start."""
    problem = data(cell)[0]
    sizes = {"vocabulary": problem.vocabulary, "length": problem.length, **cell.sizes}
    if cell.architecture == "madden2024":
        sizes["attention_biases"] = True
    if cell.architecture == "kajitsuka2025":
        sizes["labels"] = problem.outputs
    model = learner(architecture(cell.architecture, sizes), problem, seed=0)
    ours = Ours(model, cell.attempt, [one for one, _ in pairs])
    return ours, plain(cell, model.named(), [batch for _, batch in pairs])


def plain(cell: Cell, tensors: Mapping[str, torch.Tensor], batches: Sequence[Batch]) -> Training:
    """The training in plain PyTorch, with copies of these weights."""
    module, attempt = PLAIN[cell.architecture], cell.attempt
    if module is madden2024:
        model = module.started(tensors, LENGTH)
    elif module is dana2024:
        model = module.started(tensors, cell.sizes.get("heads", 1))
    else:
        model = module.started(tensors)
    return Training(model, module.loss, fused(model.parameters(), attempt), batches)


def fused(parameters: Iterator[torch.nn.Parameter], attempt: Attempt) -> torch.optim.Optimizer:
    if attempt.optimiser == "adam":
        return torch.optim.Adam(parameters, lr=attempt.rate, fused=True)
    decay = attempt.weight_decay
    return torch.optim.AdamW(parameters, lr=attempt.rate, weight_decay=decay, fused=True)


def pairs_of(cell: Cell, number: int, random: np.random.Generator) -> list[Pair]:
    """All of the data, or so many batches that are drawn from it."""
    if cell.uses is None:
        return [data(cell)]
    size = PROTOCOLS[cell.architecture, cell.protocol].batch
    assert size is not None
    return [(one, repeated(one)) for one in data(cell)[0].batches(size, number, random)]


def repeated(problem: Problem) -> Batch:
    """Every prediction as a row of its own."""
    tokens = np.repeat(problem.tokens[problem.context], problem.count, axis=0)
    answers = np.repeat(problem.answer, problem.count)
    return torch.from_numpy(tokens.astype(np.int64)), torch.from_numpy(answers)


def data(cell: Cell) -> Pair:
    """The whole data of a cell in both forms."""
    if cell.architecture == "madden2024":
        return stories(cell.rows)
    if cell.architecture == "kajitsuka2025":
        return sentences(cell.rows)
    problem = bigrams(cell.rows)
    return problem, repeated(problem)


@cache
def stories(count: int) -> Pair:
    """The first tokens of so many stories; of random ones where there is no file of stories."""
    tokens = _stories()[:count]
    rows = [(row[:end].tolist(), row[end].item()) for row in tokens for end in range(1, LENGTH)]
    dataset = from_rows(rows)
    vocabulary = targets(dataset, contexts(dataset, positions=True)).vocabulary
    number = np.zeros(tokens.max() + 1, np.int64)
    number[list(vocabulary)] = np.arange(len(vocabulary))
    return next_token(dataset), madden2024.batch(torch.from_numpy(number[tokens]))


def _stories() -> NDArray:
    if STORIES.exists():
        found = load_documents(STORIES, length=LENGTH)
    else:
        found = prefix_tree(2000, LENGTH, 700, exponent=2.5)
    ends = np.flatnonzero(found.ids == found.separator)
    documents = np.split(found.ids, ends + 1)
    return np.array([x[:LENGTH] for x in documents if len(x) > LENGTH], np.int64)


@cache
def bigrams(vocabulary: int) -> Problem:
    """Every pair of tokens with a random one that follows it."""
    following = np.random.default_rng(0).integers(0, vocabulary, (vocabulary, vocabulary)).tolist()
    pairs = [([a, b], c) for a, row in enumerate(following) for b, c in enumerate(row)]
    return next_token(from_rows(pairs))


@cache
def sentences(count: int) -> Pair:
    """So many labelled sequences of 8 words; random ones where there is no file of sentences."""
    dataset = from_rows(_sentences(count))
    tokens = torch.from_numpy(dataset.ids.reshape(count, WORDS).astype(np.int64))
    return labelled(dataset), (tokens, torch.from_numpy(dataset.labels.astype(np.int64)))


def _sentences(count: int) -> list[tuple[list[str], str]]:
    if not SENTENCES.exists():
        words = np.asarray(zipf(count, WORDS, 3000).ids).reshape(count, WORDS + 1)[:, :WORDS]
        labels = np.random.default_rng(0).integers(0, 3, count)
        return [([str(x) for x in row], str(y)) for row, y in zip(words, labels, strict=True)]
    found = load(SENTENCES, input=["premise", "hypothesis"], label="label", length=WORDS)
    full = np.flatnonzero(found.lengths == WORDS)[:count]
    return [(found.sequence(i), found.label(i)) for i in full]
