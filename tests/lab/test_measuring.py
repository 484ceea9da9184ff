"""measure in Python: a frozen result that equals the answer of the command line."""

import json
import sys
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path

import pytest

from byheart.cli import main
from byheart.data.load import load
from byheart.errors import ByheartError
from byheart.lab.measuring import Measurement, measure
from byheart.machine.engines import Workers

TESTS = str(Path(__file__).parents[1])
sys.path.insert(0, TESTS)
from stand_in import StandIn  # noqa: E402

sys.path.remove(TESTS)
THRESHOLD = 11  # neurons with which the pretended training memorises


@dataclass
class Pretended(StandIn):
    def row(self, trial, problem):
        reached = trial.sizes["neurons"] >= THRESHOLD
        facts = ("vocabulary", "outputs", "predictions", "entropy", "best_accuracy")
        return {
            "key": trial.key,
            "trial": trial.json(),
            "parameters": trial.architecture_for(problem).parameters,
            "contexts": len(problem),
            **{fact: getattr(problem, fact) for fact in facts},
            "loss": problem.entropy * (1.001 if reached else 2),
            "accuracy": 0.5,
            "reached": reached,
            "steps": 70,
            "curve": [],
            "seconds": 0.5,
            "attempts": [{"steps": 70}],
        }


@pytest.fixture
def engine(monkeypatch):
    found = Pretended()
    monkeypatch.setattr(Workers, "start", lambda self, run: found)
    return found


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "<mine>.txt"
    path.write_text("a b c a b d\n\nb c a c b a\n\na b c d d a\n")
    return path


def small(data, folder, **options):
    return measure(data, folder, architecture="madden2024", axes={"width": [4, 16]}, **options)


def test_the_result_is_the_answer_of_the_command_line(engine, data, tmp_path, capsys):
    found = small(data, tmp_path / "rows", seeds=1)
    command = ["measure", data, "-o", tmp_path / "rows", "--architecture", "madden2024"]
    command += ["--axis", "width=4,16", "--seeds", "1", "--json"]
    assert main([str(x) for x in command]) == 0
    answer, own = json.loads(capsys.readouterr().out), json.loads(json.dumps(found.json()))
    assert list(own) == list(answer)
    assert own["trials"] == {"total": 2, "ran": 2, "kept": 0}
    assert answer["trials"] == {"total": 2, "ran": 0, "kept": 2}
    for changed in ("trials", "seconds"):
        del own[changed], answer[changed]
    assert own == answer


def test_attributes_and_how_it_is_shown(engine, data, tmp_path):
    found = small(data, tmp_path / "rows", seeds=1)
    (cell,) = found.cells
    assert isinstance(found, Measurement) and cell.smallest.value == 16
    assert found.theory(cell).enough_neurons == found.dataset.contexts
    assert repr(found).startswith("madden2024 on <mine>.txt (gap=0.01)\n")
    assert f"neurons 16 ({cell.smallest.parameters:,} parameters)" in repr(found)
    shown = found._repr_html_()
    assert "&lt;mine&gt;" in shown and "<mine>" not in shown and "neurons 16" in shown
    with pytest.raises(FrozenInstanceError):
        found.folder = "elsewhere"


def test_a_dataset_and_numbers_of_every_form(engine, data, tmp_path):
    dataset = load(data)
    axes = {"width": "4-16x4", "sequences": range(10, 16, 5)}
    options = {"criterion": "loss=0.01", "seeds": 1}
    found = measure(dataset, tmp_path / "rows", architecture="madden2024", axes=axes, **options)
    assert found.sweep.axes == (("sequences", (10, 15)), ("neurons", (4, 16)))
    assert found.dataset.name == "data" and len(found.cells) == 2
    assert repr(found).count("\n") == 3 and "sequences 10  neurons 16" in repr(found)


def test_sizes_that_stay(engine, data, tmp_path):
    found = small(data, tmp_path / "rows", sizes={"dimension": 4}, seeds=1, workers=1)
    assert {trial.sizes["dimension"] for trial in engine.ran} == {4}
    assert found.json()["sizes"] == {"dimension": 4}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sizes": {"dimension": 4.5}}, "the size dimension takes whole numbers"),
        ({"sizes": {"heads": 2}}, "madden2024 has no size 'heads'"),
        ({"loss": "squared"}, "use loss='cross-entropy'"),
        ({"criterion": "good"}, "criterion must be 'gap=SHARE'"),
        ({"workers": 0}, "jobs must be 1 or more, not 0"),
        ({"on_conflict": "toss"}, "on_conflict must be one of"),
    ],
)
def test_refusals_speak_python(engine, data, tmp_path, options, words):
    with pytest.raises(ByheartError, match=words) as error:
        small(data, tmp_path / "rows", **options)
    assert "--" not in str(error.value) and str(error.value).endswith(".")
    assert not engine.ran and not (tmp_path / "rows").exists()
