"""Options that may stand without a value."""

from byheart.cli.app import ALONE, valued
from byheart.models.checker import CHECKERS


def test_the_checker_is_named_or_the_independent_one():
    assert ALONE["--checker"] == tuple(CHECKERS)
    words = ["DIR", "--checker", "DATA", "--json"]
    assert list(valued(words)) == ["DIR", "--checker=independent", "DATA", "--json"]
    assert list(valued(["--checker", "verified", "DIR"])) == ["--checker=verified", "DIR"]
    assert list(valued(["DIR", "--checker"])) == ["DIR", "--checker=independent"]
