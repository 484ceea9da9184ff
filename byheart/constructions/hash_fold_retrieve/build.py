"""Dataset to network: choose a code, search for a hash and stored numbers, assemble."""

from dataclasses import replace

from ...data.contexts import Contexts
from ...data.dataset import Dataset
from ...errors import ByheartError
from ..base import Built, Report, input_of
from ..families import Retrieval
from ..retrieval.assemble import assemble, constant
from ..retrieval.problem import prepare
from ..retrieval.search import effort_for, search
from .assemble import blocks
from .limits import Unlimited


def build(
    dataset: Dataset,
    contexts: Contexts,
    options: Retrieval,
    report: Report,
    length: int | None = None,
) -> Built:
    """The small network for any setting of the family.

    length  of the network, if not that of the longest sequence
    """
    marks, mixing, embedding = options.reject_unknown, options.attention, options.embeds
    spec = input_of(dataset, bool(options.positions))
    spec = replace(spec, length=length or spec.length)
    if mixing == "sum":
        spec = replace(spec, padding=None)
    if mixing == "sparse":
        spec = replace(spec, extra=spec.padding)
    order, problem = prepare(
        dataset, contexts, spec, marks=marks, mixing=mixing, embedding=embedding
    )
    if problem is None:
        return Built(constant(spec, mixing, embedding, dataset), 0, order=order)
    found = search(problem, Unlimited(), options.minimise, options.seed, report)
    if found is None:
        count = problem.task.contexts
        raise ByheartError(
            f"no hash separated all {count} contexts within {effort_for(count).attempts} attempts; "
            "use another seed=...."
        )
    unknown = len(order) if marks else None
    layers = list(blocks(found.storage, problem.task.code, unknown))
    output = "J0" if found.plan.narrow else "O"
    network = assemble(
        spec,
        dataset.every,
        mixing,
        problem.grain,
        found.hashed,
        found.storage.hash_unit,
        layers,
        output,
    )
    return Built(network, found.tries, found.notes, order=order, unknown=unknown)
