"""Which tests a change selects, and when a run ends."""

import pytest

from tools.quick import CONTRACT, ROOT, Budget, run, selection


def test_tests_mirror_the_package_and_the_nearest_come_first():
    files = ["byheart/data/load.py", "byheart/data/readers/text.py", "byheart/lab/trial.py"]
    selected = selection(files)
    assert selected[0] == "tests/data/test_load.py"
    assert selected[-2:] == ["tests/data", "tests/lab"]
    assert selected.count("tests/data") == 1


@pytest.mark.parametrize(
    ("file", "selected"),
    [
        ("byheart/__init__.py", []),
        ("tests/tools/test_quick.py", ["tests/tools/test_quick.py", "tests/tools"]),
        ("tests/tools/test_gone.py", ["tests/tools"]),
        ("tests/conftest.py", []),
        ("checker/check.py", ["checker/tests"]),
        ("README.md", ["tests/docs"]),
        ("docs/bounds.md", ["tests/docs"]),
        ("tools/size.py", ["tests/tools"]),
        ("results/dana/rows.jsonl", []),
    ],
)
def test_each_file_selects_its_folder(file, selected):
    assert selection([file]) == selected


def test_the_contract_tests_exist():
    assert all((ROOT / test).is_file() for test in CONTRACT)


def test_a_run_ends_when_its_time_is_over(tmp_path, capsys):
    test = tmp_path / "test_three.py"
    test.write_text("\n".join(f"def test_{i}(): pass" for i in range(3)))
    over, enough = Budget(0), Budget(1e9)
    arguments = [str(test), "-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    assert (run(arguments, over), over.over, over.done) == (0, True, 1)
    assert "2 tests are left" in capsys.readouterr().out
    assert (run(arguments, enough), enough.over, enough.done) == (0, False, 3)


def test_a_failure_fails_the_run_even_if_its_time_is_over(tmp_path):
    test = tmp_path / "test_failing.py"
    test.write_text("def test_a(): assert False\ndef test_b(): pass\n")
    arguments = [str(test), "-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    assert run(arguments, Budget(0)) == 1
