"""Dataset to editable network: a structure from the inputs alone, then numbers for the labels.

Labels are numbered by their sorted names and all have words of one length, so that nothing of their
frequencies enters the structure. It depends on the labels' number only through that length. Label
r has the word from which the network reads r.

The form with readers is left out: its positions have more equations than unknowns, which only some
labels satisfy.
"""

from dataclasses import replace

import numpy as np

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import AssumptionError
from ...gadgets.blocks import digit_order
from ...gadgets.prefix_code import PrefixCode
from ..base import Built, Report
from ..families import Retrieval
from ..retrieval.assemble import constant
from ..retrieval.problem import LONGEST_WORD, Inputs, Problem, inputs
from .build import network_of, read
from .structure import Structure, again, find


def build(dataset: Dataset, contexts: Contexts, options: Retrieval, report: Report) -> Built:
    """The network whose weights are a function of (structure, labels).

    The structure is the one that options.structure records, if there is one for these inputs, else
    that of a search.
    """
    names = len(dataset.label_names)
    digits, order = (names - 1).bit_length(), tuple(range(names))
    if digits + options.reject_unknown == 0:
        spec = read(dataset, options)
        return Built(constant(spec, options.attention, options.embeds, dataset), 0, order=order)
    posed = unlabelled_inputs(dataset, contexts, options, digits)
    structure = structure_of(posed, options, report)
    labels = np.argsort(digit_order(1 << digits))[dataset.labels[contexts.first]]
    words = Problem(**vars(posed), labels=labels).words(structure.layout.marks_of(structure.hashes))
    storage = structure.solved(words)
    spec, every = read(dataset, options), dataset.every
    network, unknown = network_of(spec, every, options, posed, structure.hashed, storage, names)
    return Built(
        network,
        structure.tries,
        structure.notes,
        order=order,
        unknown=unknown,
        structure=structure.record,
    )


def unlabelled_inputs(
    dataset: Dataset, contexts: Contexts, options: Retrieval, digits: int
) -> Inputs:
    """What the structure is found from: the contexts, and the bits of a label."""
    marks = options.reject_unknown
    if digits + marks > LONGEST_WORD:
        raise AssumptionError(
            f"{len(dataset.label_names)} labels and a fingerprint of {marks} bits do not fit into "
            f"{LONGEST_WORD} bits; use a smaller reject_unknown=..., or fewer labels."
        )
    blank = replace(dataset, labels=np.zeros_like(dataset.labels), label_names=("",))
    code, equations = PrefixCode((digits,) * (1 << digits)), len(contexts) * (digits + marks)
    spec, mixing, embedding = read(blank, options), options.attention, options.embeds
    return inputs(blank, contexts, spec, code, equations, marks, mixing, embedding)


def structure_of(posed: Inputs, options: Retrieval, report: Report) -> Structure:
    recorded = None
    if options.structure is not None:
        recorded = again(posed, options.structure, options.seed)
    return recorded or find(posed, options.minimise, options.seed, report)
