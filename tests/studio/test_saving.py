"""A saved page: one file that shows answers without a server, and in which data is only text."""

import json
import re

import pytest

import byheart
from byheart.cli import main
from byheart.studio.saving import digest

EVIL = (
    "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
)
ROWS = [
    {"input": ["capital", "of", "france"], "label": "paris"},
    {"input": ["capital", "of", "italy"], "label": EVIL},
    {"input": ["river", "of", "<b>italy</b>"], "label": "tiber"},
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("saved")
    (place / "facts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    byheart.compile(place / "facts.jsonl").save(place / "model")
    words = ["studio", str(place / "facts.jsonl"), "--model", str(place / "model")]
    assert main([*words, "--export", str(place / "page.html")]) == 0
    return place


def test_the_page_is_whole_and_its_data_is_text(place):
    page = (place / "page.html").read_text()
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"(?:src|href)=|https?:|<link|<img", markup) and "@import" not in page
    assert page.count("<script") == page.count("</script>") == 2 and EVIL not in page
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)[1]
    assert policy == (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'"
    )
    found = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert [one["text"] for one in found["asked"]] == [" ".join(row["input"]) for row in ROWS]
    assert found["asked"][1]["answer"]["label"] == EVIL


def test_a_browser_shows_it_and_runs_nothing_of_it(place, chromium):
    page = chromium.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((place / "page.html").as_uri())
    page.get_by_role("button", name="capital of italy").click()
    page.wait_for_selector("svg.drawing")
    assert EVIL in page.inner_text(".answer .big") and page.title() != "taken"
    page.get_by_role("button", name="Previous stage").click()
    assert page.inner_text(".stage").startswith("7 of 8") or " of " in page.inner_text(".stage")
    assert said == [] and page.locator("img").count() == 0
    page.close()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--export", "page.txt", "--model", "model"], "ends in .html"),
        (["--export", "page.html"], "a page is of one model"),
        (["--export", "page.html", "--model", "model"], "exists"),
        (["--export", "other.html", "--model", "model"], "name the questions"),
    ],
)
def test_what_is_refused(words, says, place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    assert main(["studio", *words]) == 2
    assert says in capsys.readouterr().err and not (place / "other.html").exists()


def test_questions_of_one_s_own(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    words = ["studio", "--model", "model", "--export", "own.html", "--question"]
    assert main([*words, "capital of france", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["questions"] == ["capital of france"]
