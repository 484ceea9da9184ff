"""The code blocks of pages, run as a reader would type them.

The blocks of a page run in order, in one folder. A block is

- Python: run; `value  # literal` at the end of a line is compared with the value;
- commands, one per line, with `# a comment` that may say what comes of it;
- a session: commands after "$ ", each followed by what it prints;
- output, when it stands after one of these: lines that the last command prints, in their order;
- data: lines of JSON.

A block after a line `<!-- not run: reason -->` is left alone. So is a command line with a
placeholder in capitals (DIR, DATA), and one that starts a server.
"""

import ast
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tokenize
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from byheart.cli import main

ROOT = Path(__file__).parents[2]
PROGRAMS = ("byheart", "cat", "cp", "make", "pip", "python")
FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]*) -->\n\n?)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)
PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9]+")
VERDICTS = ("proved", "sampled", "observed", "refuted")


class Block(NamedTuple):
    """kind: "python", "commands", "session", "output" or "data"; reason: why it does not run."""

    kind: str
    text: str
    reason: str | None = None


class Command(NamedTuple):
    """A command line as words, its comment, and the lines of its here-document or its output."""

    words: list[str]
    comment: str
    lines: list[str]

    @property
    def line(self) -> str:
        return shlex.join(self.words)

    @property
    def runs(self) -> bool:
        """Whether the line is a command that ends, and not one that shows how it is called."""
        usage = any(PLACEHOLDER.fullmatch(word) for word in self.words)
        return not usage and self.words[:2] != ["byheart", "studio"]


def blocks(page: str) -> list[Block]:
    """The blocks of a page of Markdown; ValueError if one has another language."""
    found = []
    for match in FENCE.finditer(page):
        text = match["text"]
        first = text.split(maxsplit=1)[0] if text.strip() else ""
        kind = "output"
        if match["language"]:
            kind = match["language"]
        elif first == "$":
            kind = "session"
        elif first in PROGRAMS:
            kind = "commands"
        elif first.startswith("{"):
            kind = "data"
        if kind not in ("python", "commands", "session", "output", "data"):
            raise ValueError(f"a block of the unknown language {kind}")
        found.append(Block(kind, text, match["reason"]))
    return found


def commands(block: Block) -> list[Command]:
    """The command lines of a block, whole."""
    if block.kind == "session":
        pieces = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
        rows = [piece.rstrip("\n").split("\n") for piece in pieces]
        return [Command(shlex.split(first, comments=True), "", more) for first, *more in rows]
    found = []
    lines = iter(block.text.replace("\\\n", " ").splitlines())
    for line in lines:
        if not line.strip():
            continue
        more = list(iter(lambda: next(lines), "END")) if "<<'END'" in line else []
        comment = re.search(r"\s# (.*)$", line)
        found.append(Command(shlex.split(line, comments=True), comment[1] if comment else "", more))
    return found


@contextmanager
def folder(path: Path):
    """The folder that blocks run in: README's files are there, and lines are 120 wide."""
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(path)
    os.environ["COLUMNS"] = "120"
    try:
        yield path
    finally:
        os.chdir(before)
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns


def run(command: Command) -> tuple[int, str]:
    """The exit code and what is printed; byheart itself runs in this process."""
    name, *words = command.words
    if name == "cat":
        Path(words[words.index(">") + 1]).write_text("".join(f"{x}\n" for x in command.lines))
        return 0, ""
    if name == "cp":
        shutil.copy(ROOT / words[0], words[1])
        return 0, ""
    if name == "python":
        place = ROOT / words[0] if (ROOT / words[0]).is_file() else words[0]
        done = subprocess.run(
            [sys.executable, place, *words[1:]], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr
    assert name == "byheart", f"pages run no {name}"
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        code = main(words)
    return code, printed.getvalue()


def run_page(page: str) -> list[str]:
    """Run the blocks of a page here, in this folder; those that it marks as not run, by reason.

    AssertionError where a command fails or the page shows something else than what it prints.
    """
    left, names, printed = [], {}, None
    for block in blocks(page):
        if block.reason is not None:
            left.append(f"{block.reason}: {block.text.splitlines()[0]}")
            printed = None
        elif block.kind == "python":
            run_python(block.text, names)
        elif block.kind == "data":
            _ = [json.loads(line) for line in block.text.splitlines()]
        elif block.kind == "output":
            assert printed is not None, f"no command prints this:\n{block.text}"
            shows(block.text.splitlines(), printed)
        else:
            for command in commands(block):
                if not command.runs:
                    continue
                code, printed = run(command)
                judge(command, code, printed, block.kind == "session")
    return left


def judge(command: Command, code: int, printed: str, session: bool) -> None:
    """AssertionError unless a command ended and printed as the page says."""
    said = command.comment
    fails = said.startswith((*VERDICTS[1:], "not settled"))  # only what is proved holds
    assert code == int(fails), f"{command.line} ended with {code}:\n{printed}"
    if session:
        shows(command.lines, printed)
    elif said.startswith(VERDICTS):
        verdict = re.match(r"\w+", said)[0]
        assert re.search(rf"^{verdict}\b", printed, flags=re.MULTILINE), f"{command}: {printed}"
    elif command.words[1:2] == ["recall"] and said and not re.match(r"(the|how) ", said):
        shows([said], printed)


def shows(lines: list[str], printed: str) -> None:
    """AssertionError unless the lines are in what was printed, in this order.

    White space counts as one space, and "..." stands for anything.
    """
    whole, place = " ".join(printed.split()), 0
    for line in lines:
        for piece in line.split("..."):
            wanted = " ".join(piece.split())
            found = whole.find(wanted, place)
            assert found >= 0, f"the page shows {wanted!r}; printed was\n{printed}"
            place = found + len(wanted)


def run_python(code: str, names: dict, file: str = "<page>") -> None:
    """Run a block; AssertionError where a value is not the literal in the comment beside it."""
    comments = {
        token.start[0]: token.string.removeprefix("# ")
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type == tokenize.COMMENT
    }
    for statement in ast.parse(code).body:
        source = ast.unparse(statement)
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), file, "exec"), names)
            continue
        value = eval(compile(ast.Expression(statement.value), file, "eval"), names)
        said = literal(comments.get(statement.end_lineno, ""))
        if said is not None:
            assert same(value, said), f"{source} is {value!r}, not {said!r}"


def literal(comment: str) -> object:
    """The value that a comment begins with; None if it begins with words."""
    for text in (comment, comment.partition("; ")[0], comment.partition(": ")[0]):
        try:
            return ast.literal_eval(text)
        except (SyntaxError, ValueError):
            continue
    return None


def same(value: object, said: object) -> bool:
    """Whether a value is what the page says; of a float, in the digits that it shows."""
    if isinstance(said, float):
        digits = len(re.sub(r"e.*|\.|-", "", repr(said)).strip("0")) or 1
        return float(f"{value:.{digits}g}") == said
    return value == said
