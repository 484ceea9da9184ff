"""compile: dataset in, verified model out."""

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..constructions import ALL
from ..constructions.base import Built, Construction, Interpolant, Options, Report
from ..data.contexts import Contexts, contexts, resolve
from ..data.dataset import Dataset
from ..errors import AssumptionError, ByheartError
from ..exact.codeword import encoded_bits
from ..exact.network import Network
from ..machine.threads import single
from ..models.language_model import LanguageModel
from ..models.model import Model
from ..models.verification import PROVE_LIMIT, Verification, verify
from ..softmax import codeword as decoder_code
from ..softmax.decoder import ACTIVATIONS, Decoder

DECODER_OPTIONS = (
    "dimension", "heads", "head_dimension", "skip", "activation", "gap", "neurons", "tight",
    "encoder", "epsilon",
)  # fmt: skip
SIZE_LIMIT = 1 << 20  # of checker/FORMAT.md
SMALLEST_GAP, LARGEST_GAP = 1e-15, 10.0  # nats
SAMPLE = 100  # sequences verified where all of them would take too long


def compile(
    dataset: Dataset,
    *,
    method: str | None = None,
    form: str | None = None,
    positions: bool | None = None,
    on_conflict: str = "refuse",
    reject_unknown: int = 0,
    minimise: str = "nonzero",
    bits: int | None = None,
    separation: float | None = None,
    attention: str = "uniform",
    dimension: int | None = None,
    heads: int | None = None,
    head_dimension: int | None = None,
    skip: bool = False,
    activation: str | None = None,
    gap: float | None = None,
    neurons: int | None = None,
    tight: bool = False,
    encoder: str | None = None,
    epsilon: float | None = None,
    prove_limit: float = PROVE_LIMIT,
    sample: int | None = None,
    seed: int = 0,
    report: Report = lambda sentence: None,
    progress: Callable[[int], None] | None = None,
) -> Model | LanguageModel:
    """A model that returns the label of every sequence, or the distribution of labels.

    It is verified on all of them before it is returned; a construction may say beyond how many
    contexts that takes too long (`provable`), then on a sample, and the evidence says so.

    method, form    see constructions.ALL (default: the smallest that fits the data)
    positions       whether order counts (default: for text)
    on_conflict     "refuse", "majority" or "drop", for contexts with two labels
    reject_unknown  bits of a fingerprint by which unknown inputs are told (0: none)
    minimise        "nonzero", "dense" or "bits"
    bits            of the longest parameter (limited-bits)
    separation      refuse tokens that are closer (the faithful constructions)
    attention       "uniform", or "hard" with scores that are all 0
    dimension       of embedded tokens (methods that store distributions, here and below)
    heads           of softmax attention
    head_dimension  of its queries, keys and values
    skip            whether it adds the last token's vector
    activation      logistic, tanh, erf, arctan or gelu
    gap             the divergence from its target that no context may pass, in nats
    neurons         how many
    tight           count the skip connection as a head (attention-only)
    encoder         the target sequence encoder: circle, look-up or optimal (attention-only)
    epsilon         share of the least likely contexts to leave out (attention-only-approximate)
    prove_limit     seconds; where proving distributions takes longer, they are observed
    sample          verify so many sequences only: the evidence is then "sampled"
    """
    if not isinstance(dataset, Dataset):
        raise ByheartError("compile takes a Dataset; byheart.load(path) reads one from a file")
    construction = find(method or _default(dataset), form)
    if sample is not None and sample < 1:
        raise ByheartError(f"sample is an integer of 1 or more, not {sample}")
    started = time.perf_counter()
    options = Options(
        orders(construction, dataset, positions),
        reject_unknown, minimise, seed, bits, separation, attention,
        dimension, heads, head_dimension, skip, activation, gap, neurons, tight, encoder, epsilon,
    )  # fmt: skip
    given = dataset
    dataset, grouped = prepare(construction, dataset, options, on_conflict)
    with single() if construction.stores == "distributions" else nullcontext():
        built = construction.build(dataset, grouped, options, report)
    seconds = {"build": time.perf_counter() - started}
    about = _about(dataset, construction, built, options, len(grouped), on_conflict)
    about["conflicts"] = settled(given, dataset)
    model = _model(dataset, built, about)
    if sample is None and len(grouped) > (construction.provable or math.inf):
        sample = SAMPLE
        report(f"all of {len(dataset)} sequences take too long: verifying {sample} of them")
    found = verify(
        model, dataset, sample=sample, seed=seed, progress=progress, prove_limit=prove_limit
    )
    model.about["verification"] = _held(found)
    seconds["verify"] = time.perf_counter() - started - seconds["build"]
    model.about["seconds"] = seconds
    return model


def _held(found: Verification) -> Verification:
    """The verification; a network that fails it is not returned."""
    if not found.holds:
        what = "labels" if found.fit is None else "distributions within the gap"
        raise ByheartError(
            f"the network gives {found.correct} of {found.checked} {what} and is "
            "not returned: this is an error in byheart, please report it with the data and the seed"
        )
    return found


def _default(dataset: Dataset) -> str:
    """The smallest method for this kind of data."""
    return "seq2seq" if dataset.every else "hash-fold-retrieve"


def find(method: str, form: str | None = None) -> Construction:
    """The construction of that name, in its small form if there are two and none is named."""
    named = [c for c in ALL if c.name == method]
    if not named:
        names = ", ".join(dict.fromkeys(c.name for c in ALL))
        raise ByheartError(f"there is no method {method!r}; there are {names}")
    for construction in named:
        if form is None or construction.form == form:
            return construction
    forms = [c.form for c in named if c.form]
    has = f"the forms {' and '.join(forms)}, not {form!r}" if forms else "one form only"
    both = dict.fromkeys(c.name for c in ALL if c.form == form)
    others = f"; these have a {form} form: {', '.join(both)}" if both and not forms else ""
    raise ByheartError(f"the method {method} has {has}{others}")


def orders(construction: Construction, dataset: Dataset, positions: bool | None) -> bool:
    """Whether order counts: as asked for, otherwise for text."""
    if positions is not None and construction.stores == "distributions":
        raise ByheartError(
            f"{construction.name} always sees order; leave out --positions and --no-positions"
        )
    if positions is not None:
        return positions
    text = bool({"documents", "separator"} & set(dataset.loading))
    return text and "positions" in construction.takes


def prepare(
    construction: Construction, dataset: Dataset, options: Options, on_conflict: str
) -> tuple[Dataset, Contexts]:
    """What is to be built, a dataset and its contexts; refused if this construction cannot."""
    _check(construction, options)
    _check_data(construction, dataset)
    return _agreeing(dataset, construction, options.positions, on_conflict)


def _check(construction: Construction, options: Options) -> None:
    """Refuse values that no method knows, and options that this one does not know."""
    if options.minimise not in ("nonzero", "dense", "bits"):
        raise ByheartError(f"minimise is nonzero, dense or bits, not {options.minimise!r}")
    if not 0 <= options.reject_unknown <= 40:
        raise ByheartError(f"reject-unknown takes 0 to 40 bits, not {options.reject_unknown}")
    if options.attention not in ("uniform", "hard"):
        raise ByheartError(f"attention is uniform or hard, not {options.attention!r}")
    if options.bits is not None and options.bits < 1:
        raise ByheartError(f"bits is an integer of 1 or more, not {options.bits}")
    if options.separation is not None and not 0 < options.separation < math.inf:
        raise ByheartError(f"separation is a number above 0, not {options.separation}")
    _check_decoder(options)
    for name, default in vars(Options()).items():
        if name != "seed" and getattr(options, name) != default and name not in construction.takes:
            form = f" in its {construction.form} form" if construction.form else ""
            others = dict.fromkeys(c.name for c in ALL if name in c.takes)
            raise ByheartError(
                f"the method {construction.name}{form} does not take --{name.replace('_', '-')}; "
                f"these do: {', '.join(others)}"
            )


def _check_decoder(options: Options) -> None:
    """The same for the options of decoders."""
    for name in ("dimension", "heads", "head_dimension", "neurons"):
        size = getattr(options, name)
        if size is not None and not 1 <= size <= SIZE_LIMIT:
            raise ByheartError(
                f"{name.replace('_', '-')} is an integer from 1 to {SIZE_LIMIT:,}, not {size}"
            )
    if options.activation not in (None, *ACTIVATIONS):
        raise ByheartError(
            f"activation is one of {', '.join(ACTIVATIONS)}, not {options.activation!r}"
        )
    if options.encoder not in (None, "circle", "look-up", "optimal"):
        raise ByheartError(f"encoder is circle, look-up or optimal, not {options.encoder!r}")
    if options.epsilon is not None and not 0 <= options.epsilon < 1:
        raise ByheartError(f"epsilon is a number from 0, below 1, not {options.epsilon:g}")
    if options.gap is not None and not SMALLEST_GAP <= options.gap <= LARGEST_GAP:
        raise ByheartError(
            f"gap is a number of nats from {SMALLEST_GAP:g} (float64 cannot reach less) to "
            f"{LARGEST_GAP:g}, not {options.gap:g}"
        )


def _check_data(construction: Construction, dataset: Dataset) -> None:
    if construction.every is not None and construction.every != dataset.every:
        has = "every token has a label" if dataset.every else "a sequence has one label"
        other = "seq2seq or sparse-attention" if dataset.every else "another method"
        raise AssumptionError(f"{construction.name}: in this data {has}; use {other}")
    if construction.stores == "distributions" and not dataset.has_vocabulary:
        raise AssumptionError(
            f"A1 fails: {construction.name} reads words or integers, and this data has tokens that "
            "are neither; use one of the methods that store labels"
        )
    if not construction.empty and not dataset.lengths.all():
        first = int(np.argmin(dataset.lengths))
        raise AssumptionError(
            f"sequence {first + 1} is empty; leave it out, or use --method deep-sets, "
            "where order counts for nothing"
        )


def _agreeing(
    dataset: Dataset, construction: Construction, positions: bool, on_conflict: str
) -> tuple[Dataset, Contexts]:
    """The dataset with one label a context, or distributions, and its contexts."""
    if construction.stores == "distributions":
        if on_conflict != "refuse":
            raise ByheartError(
                f"{construction.name} takes no --on-conflict; the methods that store labels do"
            )
        return dataset, contexts(dataset, positions=True)
    last = construction.last
    grouped = contexts(dataset, positions, last)
    resolved = resolve(dataset, grouped, on_conflict)
    return resolved, grouped if resolved is dataset else contexts(resolved, positions, last)


def settled(given: Dataset, dataset: Dataset) -> dict[str, int]:
    """What --on-conflict did: labels that were changed, or sequences that were left out."""
    if len(given) != len(dataset):
        return {"relabelled": 0, "dropped": len(given) - len(dataset)}
    before, after = np.array(given.label_names), np.array(dataset.label_names)
    changed = before[given.labels] != after[dataset.labels]
    return {"relabelled": int(changed.sum()), "dropped": 0}


def _model(
    dataset: Dataset, built: Built | Interpolant, about: dict[str, Any]
) -> Model | LanguageModel:
    if isinstance(built, Interpolant):
        return LanguageModel(built.network, dataset.kind, built.vocabulary, built.gap, about)
    tokens = dataset.tokens if isinstance(dataset.tokens, tuple) else None
    names = tuple(dataset.label_names[i] for i in built.order)
    return Model(built.network, dataset.kind, tokens, names, built.unknown, about, built.number)


def encoded(network: Network | Decoder) -> int:
    """Bits of the network as a code word."""
    if isinstance(network, Network):
        return encoded_bits(network)
    return decoder_code.encoded_bits(network)


def _about(
    dataset: Dataset,
    construction: Construction,
    built: Built | Interpolant,
    options: Options,
    grouped: int,
    on_conflict: str,
) -> dict[str, Any]:
    """What config.json records of how the model was made."""
    header = construction.header
    return {
        "method": construction.name,
        "form": construction.form,
        "paper": header.paper,
        "item": header.item,
        "options": {
            "positions": options.positions,
            "on_conflict": on_conflict,
            "reject_unknown": options.reject_unknown,
            "minimise": options.minimise,
            "bits": options.bits,
            "separation": options.separation,
            "attention": options.attention,
            **{name: getattr(options, name) for name in DECODER_OPTIONS},
        },
        "loading": dict(dataset.loading),
        **sizes_of(dataset, built.network, grouped),
        "search": {"seed": options.seed, "tries": built.tries},
        "notes": list(built.notes),
    }


def sizes_of(dataset: Dataset, network: Network | Decoder, contexts: int) -> dict[str, Any]:
    """What config.json records of how large the data and the network are."""
    parameters, bits = network.counts()
    labels = len(dataset.label_names)
    return {
        "data": {
            "sha256": dataset.sha256(),
            "sequences": len(dataset),
            "contexts": contexts,
            "labels": labels,
            "length": dataset.length,
            "vocabulary": len(dataset.tokens),
        },
        "parameters": parameters,
        "bits": {
            **bits,
            "encoded": encoded(network),
            "information": contexts * math.log2(labels),
        },
    }
