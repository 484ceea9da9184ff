"""Who may ask: tokens, hosts, origins, and what a request can name. No worker is started here."""

import asyncio
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the page needs Starlette")
from starlette.testclient import TestClient

from byheart.studio import app as pages
from byheart.studio.desk import Desk
from byheart.studio.guard import HEADERS, POLICY

TOKEN, PORT = "a-token-of-this-test", 8642
HOME = f"http://127.0.0.1:{PORT}"


class Idle:
    """A worker that takes tasks and does nothing."""

    job = None

    def __init__(self, tell):
        self.begun = []

    async def warm(self):
        pass

    async def begin(self, *task):
        self.job = task[0]
        self.begun.append(task)

    async def stop(self):
        self.job = None


@pytest.fixture
def desk(monkeypatch):
    monkeypatch.setattr("byheart.studio.desk.Worker", Idle)

    async def made():
        return Desk()

    desk = asyncio.run(made())
    yield desk
    asyncio.run(desk.close())


@pytest.fixture
def client(desk):
    return TestClient(pages.create_app(desk, TOKEN, PORT), base_url=HOME)


@pytest.fixture
def inside(client):
    """A client that sends the token."""
    client.headers["Authorization"] = f"Bearer {TOKEN}"
    return client


@pytest.mark.parametrize("path", ["/state", "/events", "/jobs/j1/answer", "/models/m1", "/nothing"])
def test_without_the_token_nothing_is_shown(client, path):
    words = ("", "Bearer ", "Bearer wrong", b"Bearer \xe9", f"Bearer {TOKEN}x", f"Basic {TOKEN}")
    for headers in ({}, *({"Authorization": word} for word in words)):
        found = client.get(path, headers=headers)
        assert found.status_code == 403 and "the token" in found.text
    assert client.post("/jobs", content=b"{}").status_code == 403
    assert client.post("/data", content=b"x").status_code == 403


def test_the_token_is_taken_from_the_header_alone(client):
    """What a browser sends by itself, or keeps in a list of addresses, opens nothing."""
    assert client.get(f"/state?token={TOKEN}").status_code == 403
    assert client.get("/state", headers={"Cookie": f"byheart-{PORT}={TOKEN}"}).status_code == 403
    found = client.get("/state", headers={"Authorization": f"Bearer {TOKEN}"})
    assert found.json()["jobs"] == [] and "set-cookie" not in found.headers


@pytest.mark.parametrize("path", ["/", "/static/studio.js"])
def test_the_page_itself_holds_no_secret(client, path):
    found = client.get(path)
    assert found.status_code == 200 and TOKEN not in found.text
    assert "set-cookie" not in found.headers


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1:1", "", "x y"])
def test_another_host_is_refused(inside, host):
    """A name of somebody else that leads to this machine."""
    for path in ("/", "/static/studio.js", "/state"):
        assert inside.get(path, headers={"Host": host}).status_code == 400
    assert inside.get("/state", headers={"Host": f"localhost:{PORT}"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": f"https://127.0.0.1:{PORT}"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ],
)
def test_other_pages_are_refused(inside, headers):
    assert inside.get("/state", headers=headers).status_code == 403
    assert inside.post("/example", headers=headers).status_code == 403
    ours = {"Origin": HOME, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    assert inside.get("/state", headers=ours).status_code == 200


def test_a_link_on_another_page_may_lead_here(client):
    way = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=way).status_code == 200


def test_every_answer_has_the_headers(inside):
    others = TestClient(inside.app, base_url="http://evil.example")
    for found in (inside.get("/"), inside.get("/nothing"), inside.get("/jobs/x/answer")):
        assert {name: found.headers[name] for name in HEADERS} == HEADERS
    assert {name: others.get("/").headers[name] for name in HEADERS} == HEADERS
    assert "default-src 'none'" in POLICY and "unsafe" not in POLICY


def test_the_page_has_no_script_or_style_of_its_own():
    page = (pages.STATIC / "index.html").read_text()
    assert "<style" not in page and "style=" not in page and "onclick" not in page
    assert page.count("<script") == 1 and 'src="/static/studio.js"' in page
    for path in pages.STATIC.iterdir():
        text = path.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in text, path.name
        outside = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]+", text))
        assert outside <= {"http://www.w3.org"}, path.name


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/../app.py",
        "/jobs/x/tables/..%2f..%2fetc",
        "/jobs/x/pictures/a.b",
        "/models/..%2f..",
        "/jobs/%2e%2e/answer",
    ],
)
def test_no_path_leads_out(inside, path):
    assert inside.get(path).status_code in (404, 422)


@pytest.mark.parametrize("name", ["data", "folder", "output", "name"])
def test_a_page_names_no_files(inside, name):
    inside.post("/data?name=a.jsonl", content=b"{}")
    body = {"task": "compile", "arguments": {name: "/etc/passwd"}}
    found = inside.post("/jobs", json=body)
    assert found.status_code == 422 and found.json()["error"] == "a page names no files."


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not a JSON object"),
        (b"[1]", "not a JSON object"),
        (b'{"task": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "not a JSON object"),
        (b'{"task": 3}', "a task with its arguments"),
        (b'{"task": "read", "arguments": []}', "a task with its arguments"),
        (b'{"task": "rm"}', "there is no task 'rm'"),
        (b'{"task": "read"}', "choose a file first"),
        (b'{"task": "ask", "arguments": {"model": "m9", "text": "a"}}', "no such model"),
        (b" " * (1 << 20) + b"{}", "too long"),
    ],
)
def test_bad_requests_get_a_sentence(inside, body, says):
    found = inside.post("/jobs", content=body)
    assert found.status_code == 422 and says in found.json()["error"]


NESTED = b'{"task": "compile", "arguments": {"options": {"a": %s}}}'


@pytest.mark.parametrize(
    ("task", "arguments", "says"),
    [
        ("read", {"loading": "x"}, "loading must be an object."),
        ("read", {"loading": {"input": 5}}, "input must be a list of texts."),
        ("read", {"loading": {"input": "ab"}}, "input must be a list of texts."),
        ("read", {"loading": {"label": ["a"]}}, "label must be text or a whole number from 0."),
        ("read", {"loading": {"length": True}}, "length must be text or a whole number from 0."),
        ("read", {"loading": {"length": 10**30}}, "length must be text or a whole number from 0."),
        ("read", {"loading": {"path": "x"}}, "there is no option 'path' of how a file is read."),
        ("compile", {"loading": {"tokenizer": "/etc/x"}}, "opens no files by their names"),
        ("compile", {"loading": {"tokenizer": "bpe:9/../x"}}, "opens no files by their names"),
        ("read", {"x": 1}, "read has no argument 'x'; it has loading."),
        ("compile", {"seed": -1}, "seed must be a whole number from 0."),
        ("compile", {"method": None}, "method must be text."),
        ("compile", {"options": [1]}, "options must be an object."),
        ("ask", {"model": ["m1"], "text": "a"}, "model must be text."),
        ("ask", {"model": "m1"}, "ask needs the argument text."),
        ("edit", {"model": "m1", "edits": ["a"]}, "edits must be a list of objects."),
        ("forget", {"model": "m1", "items": [1]}, "items must be a list of texts."),
        (
            "forget",
            {"model": "m1", "items": [], "label_only": 1},
            "label_only must be true or false",
        ),
        ("items", {"model": "m1", "first": 0}, "items has no argument 'first'; it has model."),
    ],
)
def test_wrong_arguments_get_a_sentence_and_are_not_kept(inside, desk, task, arguments, says):
    inside.post("/data?name=a.jsonl", content=b"{}")
    before = inside.get("/state").json()["data"], list(desk.jobs)
    found = inside.post("/jobs", json={"task": task, "arguments": arguments})
    assert found.status_code == 422 and says in found.json()["error"]
    assert (inside.get("/state").json()["data"], list(desk.jobs)) == before


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"[" * 900 + b"]" * 900, "more than 16 levels"),
        (b'{"a":' * 900 + b"1" + b"}" * 900, "more than 16 levels"),
        (b"[" * 14 + b"]" * 14, "more than 16 levels"),
        (b"NaN", "not finite"),
        (b"[1e999]", "not finite"),
    ],
)
def test_what_no_page_could_be_sent_is_refused(inside, desk, value, says):
    inside.post("/data?name=a.jsonl", content=b"{}")
    found = inside.post("/jobs", content=NESTED % value)
    assert found.status_code == 422 and says in found.json()["error"]
    assert [job.task for job in desk.jobs.values()] == ["read"]


def test_the_deepest_request_and_half_a_character_leave_the_state_whole(inside):
    inside.post("/data?name=a.jsonl", content=b"{}")
    for value in (b"[" * 13 + b"]" * 13, b'"\\ud800"'):
        assert inside.post("/jobs", content=NESTED % value).status_code == 200
    assert len(inside.get("/state").json()["jobs"]) == 3


def test_replaced_uploads_are_removed(inside, desk):
    """Unless a model was made of one, or a job needs it."""

    def uploads():
        return {path.name for path in desk.home.iterdir() if path.name.startswith("f")}

    for name in "abc":
        inside.post(f"/data?name={name}.jsonl", content=b"{}")
        assert uploads() == {desk.data.path.parent.name}
    kept = desk.data.path.parent.name
    job = inside.post("/jobs", json={"task": "compile", "arguments": {}}).json()["job"]
    inside.post("/data?name=d.jsonl", content=b"{}")
    assert uploads() == {kept, desk.data.path.parent.name}  # it waits for its file
    inside.post(f"/jobs/{job}/stop")
    assert uploads() == {desk.data.path.parent.name}
    other = inside.post("/data?name=e.jsonl&role=strangers", content=b"{}").json()["file"]
    inside.post("/example")
    assert uploads() == {other} and (pages.SAMPLES / "book.txt").exists()


def test_an_audit_names_strangers_and_references_by_their_ids(inside, desk):
    inside.post("/data?name=a.jsonl", content=b"{}")
    desk.folders = (Path("/nowhere"),)
    from byheart.studio.desk import ModelFolder

    desk.models["m1"] = ModelFolder("m1", "given", Path("/nowhere"), None, {}, None, given=True)
    for given in ({"strangers": "/etc/passwd"}, {"reference": "/etc"}):
        body = {"task": "audit", "arguments": {"model": "m1", **given}}
        assert inside.post("/jobs", json=body).status_code == 422
    file = inside.post("/data?name=b.jsonl&role=strangers", content=b"{}").json()["file"]
    body = {"task": "audit", "arguments": {"model": "m1", "strangers": file, "reference": "m1"}}
    assert inside.post("/jobs", json=body).status_code == 200
    job = list(desk.jobs.values())[-1]
    assert job.arguments["strangers"] == str(desk.files[file].path)
    assert job.arguments["reference"] == "/nowhere"


def test_an_upload_is_limited_and_leaves_nothing(inside, desk, monkeypatch):
    monkeypatch.setattr(pages, "MAX_UPLOAD", 100)
    assert inside.post("/data?name=a.txt", content=b"x" * 101).status_code == 413
    chunks = (b"x" * 30 for _ in range(5))  # without a length
    found = inside.post("/data?name=a.txt", content=chunks)
    assert found.status_code == 413 and "larger than" in found.json()["error"]
    assert list(desk.home.iterdir()) == [] and desk.data is None
    assert inside.post("/data?name=a.txt", content=b"x" * 100).status_code == 200
    assert desk.data.size == 100


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("../../etc/passwd", "passwd"),
        ("<img src=x onerror=alert(1)>.csv.gz", "_img_src_x_onerror_alert_1__.csv.gz"),
        ("C:\\data\\facts.jsonl", "facts.jsonl"),
        ("...", "data"),
        ("x" * 300 + ".txt", "x" * 80),
        ("", "data"),
    ],
)
def test_names_of_uploads(inside, desk, name, stored):
    """The name that is shown is the user's; that on the disk is harmless, and in its folder."""
    assert inside.post("/data", params={"name": name}, content=b"x").status_code == 200
    path = desk.data.path
    assert path.name == stored and path.parent.parent == desk.home
    assert json.loads(inside.get("/state").text)["data"]["name"] == (name[:200] or "data")
