"""The lines of the package against their limits."""

import json
import subprocess
import sys

from tools.size import LIMITS, ROOT, lines_by_room, problems


def test_lines_are_counted_by_room(tmp_path):
    for name, text in {
        "__init__.py": "a\nb\n",
        "data/load.py": "a\n",
        "data/readers/text.py": "a\nb\nc\n",
        "studio/app.py": "a\n",
        "studio/static/page.js": "a\nb\n",
        "studio/static/page.css": "a",
        "studio/static/icon.svg": "a\n",
        "data/book.txt": "a\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    counted = {"(root)": 2, "data": 4, "studio": 1, "studio (page)": 3}
    assert lines_by_room(tmp_path) == counted


def test_rooms_within_their_limits_are_no_problem():
    assert problems({"data": 4, "lab": 2}, {"data": 4, "lab": 9, "gone": 1}, ceiling=6) == []


def test_a_room_that_grows_or_is_new_and_a_package_that_grows_are_named():
    sentences = problems({"data": 1001, "attic": 2}, {"data": 1000}, ceiling=1002)
    assert [sentence.partition(":")[0] for sentence in sentences] == [
        "data has 1,001 lines of 1,000",
        "attic is a new room",
        "the package has 1,003 lines of Python, of 1,002",
    ]
    assert all("tools/size.json" in sentence for sentence in sentences)


def test_the_page_is_beside_the_package():
    rooms = {"studio": 4, "studio (page)": 9}
    assert problems(rooms, rooms, ceiling=4) == []
    (sentence,) = problems(rooms, {**rooms, "studio (page)": 8}, ceiling=4)
    assert sentence.startswith("studio (page) has 9 lines of 8")


def test_every_room_has_a_limit():
    rooms = lines_by_room(ROOT / "byheart")
    assert set(rooms) <= set(json.loads(LIMITS.read_text())["rooms"])


def test_the_program_prints_every_room():
    program = [sys.executable, str(ROOT / "tools" / "size.py")]
    ran = subprocess.run(program, capture_output=True, text=True)
    assert ran.returncode == bool(ran.stderr)
    assert [line.split("  ")[0] for line in ran.stdout.splitlines()] == [
        *lines_by_room(ROOT / "byheart"),
        "package",
    ]
