"""What messages say of installing fits the installation, and never names byheart in an index."""

import json
import re

import pytest

from byheart.machine import installing

REQUIRES = [
    "numpy>=1.26",
    "torch>=2.4; extra == 'torch'",
    "byheart[torch]; extra == 'huggingface'",
    "transformers>=5 ; extra == 'huggingface'",
    "tokenizers>=0.22; extra == 'huggingface'",
    "byheart[huggingface,torch]; extra == 'onnx'",
    "onnx>=1.16; extra == 'onnx'",
]


class Installed:
    """A distribution with this origin."""

    def __init__(self, origin):
        self.origin, self.requires = origin, REQUIRES

    def read_text(self, name):
        return None if self.origin is None else json.dumps(self.origin)


@pytest.fixture
def installed(monkeypatch):
    def put(origin):
        monkeypatch.setattr(installing, "distribution", lambda name: Installed(origin))

    return put


def test_an_editable_installation_gets_the_extra(installed, tmp_path):
    folder = tmp_path / "a checkout"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    installed({"url": folder.as_uri(), "dir_info": {"editable": True}})
    assert installing.remedy("torch") == f"pip install -e '{folder}[torch]'"


@pytest.mark.parametrize(
    "origin",
    [
        None,
        {"url": "file:///somewhere/byheart.whl", "archive_info": {}},
        {"url": "file:///gone", "dir_info": {"editable": True}},
    ],
)
def test_a_wheel_gets_the_packages_of_the_extra(installed, origin):
    installed(origin)
    said = installing.remedy("onnx")
    assert said == "pip install 'torch>=2.4' 'transformers>=5' 'tokenizers>=0.22' 'onnx>=1.16'"
    assert "byheart" not in said


def test_no_message_sends_anybody_to_a_name_that_is_not_ours():
    from pathlib import Path

    import byheart

    wrong = re.compile(r"pip install '?byheart")
    package = Path(byheart.__file__).parent
    pages = [*package.rglob("*.py"), *package.rglob("*.js"), *package.rglob("*.html")]
    pages += [*(package.parent / "docs").glob("*.md"), package.parent / "README.md"]
    assert [path.name for path in pages if wrong.search(path.read_text("utf-8"))] == []
