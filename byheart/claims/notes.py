"""What config.json says of any model: its format, and how it was made."""

from typing import Any

from ..data.layout import Layout
from ..machine.strict import Object, shown
from .record import Bits, DataSizes, Record, Search

VERSION = 2  # of the format of model folders; version 1 recorded options of all methods
NUMBERS = ("dyadic", "float64")
NAMES = ("method", "form", "paper", "item")  # strings or null
SEARCH = {"seed": int, "tries": int, "structure": dict, "tokenizer": str}
COUNTS = ("contexts", "labels", "length", "vocabulary")  # of the data


def check_version(given: Object) -> None:
    """Refuse a file of a version that is not known."""
    if given.get("version", int) not in (1, VERSION):
        given.refuse(f"version is {shown(given.values['version'])}, known are 1 and {VERSION}")


def read_number(given: Object) -> str:
    """How the weights are stored, in a config.json that this version knows."""
    given.expect("format", "byheart-model")
    check_version(given)
    return given.choice("number", NUMBERS)


def read_record(given: Object) -> Record:
    """What config.json records for people: what is not of the expected type is left out."""

    data, bits = given.note("data", dict, {}), given.note("bits", dict, {})

    def sizes(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        numbers = {x: values[x] for x in names if type(values.get(x)) in (int, float)}
        return {name: value for name, value in numbers.items() if 0 <= value < 2**63}

    starts = data.get("beginnings")
    listed = isinstance(starts, list) and all(type(x) in (str, int, float) for x in starts)
    search = Object(given.note("search", dict, {}), given.where)
    return Record(
        **{name: given.note(name, str) for name in NAMES},
        **{name: given.note(name, dict, {}) for name in ("options", "conflicts", "loading")},
        data=DataSizes(**sizes(data, COUNTS), beginnings=tuple(starts) if listed else None),
        bits=Bits(**sizes(bits, ("encoded", "entropy", "information"))),
        search=Search(**{name: search.note(name, kind) for name, kind in SEARCH.items()}),
        training=given.note("training", dict),
        layout=Layout.read(given.note("layout", str)),
    )


def described(number: str, structure: dict[str, Any], record: Record) -> dict[str, Any]:
    """The content of config.json, with these keys for what the network is."""
    format_ = {"format": "byheart-model", "version": VERSION, "number": number}
    named = {name: getattr(record, name) for name in NAMES}
    return {**format_, **named, **structure, **record.json()}
