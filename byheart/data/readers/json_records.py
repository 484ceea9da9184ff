"""JSON: a list of records, a mapping of records, or either of them inside something larger."""

import json
from typing import Any

from ...errors import ByheartError
from ..columns import fields
from ..dataset import Dataset
from ..values import Fault
from .jsonl import decoder
from .objects import table
from .raw import Raw
from .text import read_text


def read(raw: Raw, records: str | None, **how: Any) -> Dataset:
    """The dataset of a .json file; the options are those of `load`."""
    text = read_text(raw)
    try:
        value = decoder().decode(text)
    except json.JSONDecodeError as error:
        lines = text.strip().split("\n")
        advice = "repair it"
        if error.msg == "Extra data" and all(line.strip()[-1:] in ("}", "") for line in lines):
            advice = "if every line is a record, say so with `format='jsonl'`"
        raise ByheartError(
            f"{raw.name}, line {error.lineno}: not valid JSON ({error.msg}, column "
            f"{error.colno}); {advice}."
        ) from None
    except Fault as fault:
        raise ByheartError(f"{raw.name}: {fault}.") from None
    except RecursionError:
        raise ByheartError(f"{raw.name}: the JSON is nested too deeply; flatten it.") from None
    except ValueError:
        raise ByheartError(f"{raw.name}: a number has too many digits; use a string.") from None
    return Dataset(**fields(table(value, raw.name, records), **how))
