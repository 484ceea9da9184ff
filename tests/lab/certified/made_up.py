"""Random networks and data that they get right, for tests of what is certified."""

import math

import numpy as np
from hypothesis import settings

from byheart.architectures import architecture
from byheart.data.load import from_rows
from byheart.lab.certified.convert import Trained
from byheart.lab.certified.folded import decoder
from byheart.lab.problem import labelled, next_token
from byheart.lab.protocol import protocol
from byheart.lab.trial import Criterion, Trial
from byheart.machine.watch import SILENT

FAST = settings(deadline=None, max_examples=25)


def drawn(found, seed, scale=1.0):
    """Random float32 tensors of an architecture, fixed ones included."""
    random = np.random.default_rng(seed)
    shapes = found.tensors | found.fixed
    return {
        name: (scale * random.standard_normal(shape)).astype(np.float32)
        for name, shape in shapes.items()
    }


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def kajitsuka(t, x):
    """Eq. (165) on the vectors of one sequence, read out at the last token."""

    def blocks(part, h):
        for i in range(sum(name.startswith(part) for name in t) // 4):
            weight, bias, down, add = (
                t[f"{part}.{i}.{name}"]
                for name in ("hidden.weight", "hidden.bias", "down.weight", "down.bias")
            )
            h = h + np.maximum(0, h @ weight.T + bias) @ down.T + add
        return h

    h = blocks("first", x @ t["embedding.weight"])
    mean = h.mean(axis=0)
    met = h[-1] + t["attention.out.weight"] @ (t["attention.value.weight"] @ mean)
    return t["output.weight"] @ blocks("second", met[None])[0]


def learnt_data(seed, labels, count=14, words=5, lengths=(1, 2, 3), layers=1, squared=False):
    """A random network, and sequences with the labels that it gives them."""
    random = np.random.default_rng(seed)
    outputs = 1 if squared else labels
    given = {"vocabulary": words, "length": max(lengths), "layers": layers, "labels": outputs}
    found = architecture("kajitsuka2025", given)
    tensors = drawn(found, seed, 0.7)
    doubles = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    rows = [([str(i)] * max(lengths), None) for i in range(words)]  # every word occurs
    rows += [
        ([str(x) for x in random.integers(0, words, random.choice(lengths))], None)
        for _ in range(count)
    ]
    said = [kajitsuka(doubles, np.eye(words)[[int(x) for x in row]]) for row, _ in rows]
    names = [int(x[0] > 0) if squared else int(x.argmax()) for x in said]
    return tensors, from_rows([(row, name) for (row, _), name in zip(rows, names, strict=True)])


def made_of(architecture, sizes, dataset, squared=False):
    """What stands in for a training: a row of nothing but what is recorded."""
    data = {"sha256": dataset.sha256(), "sequences": len(dataset)}
    data |= {"loss": "squared"} if squared else {}
    criterion = Criterion("accuracy", 1.0)
    trial = Trial(architecture, sizes, data, protocol(architecture, "fast"), criterion, 3)
    labels = architecture == "kajitsuka2025"
    problem = labelled(dataset, squared) if labels else next_token(dataset)
    found = trial.architecture_for(problem)
    row = {"key": trial.key, "parameters": found.parameters, "attempts": [{}], "curve": []}
    return Trained(trial, found, row, dataset, 1.0, SILENT), problem


def relabelled(tensors, dataset):
    """Rows of the output matrix for the labels that occur: the loader numbers only those."""
    if len(tensors["output.weight"]) == 1:
        return tensors
    return {**tensors, "output.weight": tensors["output.weight"][list(dataset.label_names)]}


def pairs(seed, count=12, words=5, certain=False):
    """Contexts of one and two words, and what follows them."""
    random = np.random.default_rng(seed)
    rows = [([str(x) for x in random.integers(0, words, 1 + i % 2)], None) for i in range(count)]
    rows = [(tokens, str(random.integers(0, words))) for tokens, _ in rows]
    return from_rows(list({tuple(x): (x, y) for x, y in rows}.values()) if certain else rows)


def random_decoder(dataset, seed, scale=0.5):
    made, _ = made_of("madden2024", {"dimension": 4, "neurons": 6}, dataset)
    return made, decoder(made.architecture, drawn(made.architecture, seed, scale))
