"""Parameters against bits: the same data under several limits (Theorem F.1)."""

from collections.abc import Sequence
from dataclasses import replace

from ...construction import Construction, Options
from ...contexts import Contexts
from ...dataset import Dataset
from ...errors import AssumptionError
from . import SmallLimitedBits


def tradeoff(
    dataset: Dataset,
    contexts: Contexts,
    options: Options,
    bits: Sequence[int],
    constructions: Sequence[Construction] = (SmallLimitedBits(),),
) -> list[dict]:
    """One row a construction and limit, the longest first; limits that are refused are left out.

    A construction that refuses a limit is not asked for shorter ones.
    """
    rows = []
    for construction in constructions:
        for limit in sorted(set(bits), reverse=True):
            try:
                rows.append(_row(construction, dataset, contexts, replace(options, bits=limit)))
            except AssumptionError:
                break
    return rows


def _row(
    construction: Construction, dataset: Dataset, contexts: Contexts, options: Options
) -> dict:
    network = construction.build(dataset, contexts, options, lambda sentence: None).network
    parameters, bits = network.counts()
    return {
        "bits": options.bits,
        "form": construction.form,
        "nonzero": parameters["nonzero"],
        "total": bits["total"],
        "largest": bits["largest"],
        "depth": network.depth,
    }
