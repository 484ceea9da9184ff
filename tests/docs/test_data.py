"""What docs/data.md says about reading files is what happens."""

import re
from pathlib import Path

from byheart.cli import main
from byheart.cli.options import READING
from byheart.data.load import FILES
from byheart.data.readers.raw import COMPRESSED

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text()
README = (Path(__file__).parents[2] / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_the_commands_answer_as_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    table, session = blocks("")
    Path("capitals.csv").write_text(table)
    commands = session.split("$ byheart ")[1:]
    assert len(commands) == 3
    for command in commands:
        line, *wanted = command.rstrip("\n").split("\n")
        main(line.split())
        printed = capsys.readouterr()
        found = [x.rstrip() for x in (printed.out + printed.err).rstrip("\n").split("\n")]
        if wanted[-1] == "...":
            wanted = wanted[:-1]
            found = found[: len(wanted)]
        assert found == wanted, line


def test_the_python_of_the_page_runs():
    for code in blocks("python"):
        exec(code, {})


def test_the_page_and_the_readme_name_every_format_and_option():
    for name in (*FILES, *COMPRESSED):
        assert f"`{name}`" in PAGE
    for name in set(FILES) - {".sqlite3", ".db"}:  # other names of .sqlite
        assert f"`{name}`" in README
    for option in READING.options:
        assert f"--{option.name}" in PAGE
