"""Pages that are written by a program are what the program writes now."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_of_methods_is_up_to_date():
    place = importlib.util.spec_from_file_location("make_methods", DOCS / "make_methods.py")
    program = importlib.util.module_from_spec(place)
    place.loader.exec_module(program)
    assert program.PAGE.read_text() == program.page(), "run python docs/make_methods.py"
