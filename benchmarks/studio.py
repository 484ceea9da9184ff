"""How fast the page is: its first text, and a file of 100,000 rows.

first      from the start of the process to the text of the page, beside a bare Starlette
           application that serves one line with the same server; wall and CPU seconds, medians
rows       reading the file in the page (upload, counts, conflicts, table of rows, bounds), beside
           `byheart stats` on the same file; and how long a page waits for the state and for rows of
           the table while the file is being read, beside the bare application
browser    the same in a browser, if there is one: from the address to the first text, and the time
           that scrolling to the last row takes until it is shown
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from numpy import median

from .report import Options, machine, table

LIMIT = 0.5  # seconds to the first text after the server has started
BARE = """
import json, socket
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

async def page(request):
    return PlainTextResponse("one line")

found = socket.socket()
found.bind(("127.0.0.1", 0))
found.listen()
port = found.getsockname()[1]
print(json.dumps({"address": f"http://127.0.0.1:{port}/", "port": port}), flush=True)
config = uvicorn.Config(Starlette(routes=[Route("/", page)]), log_level="error", access_log=False)
uvicorn.Server(config).run([found])
"""
STUDIO = [sys.executable, "-m", "byheart", "studio", "--no-browser", "--json"]


class Served:
    """A server in a process of its own, and the seconds from its start to its address and text."""

    def __init__(self, command: list[str], *more: str) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = json.loads(self.process.stdout.readline())
        listening = time.perf_counter() - began
        self.address, self.port = line["address"], line["port"]
        self.home = f"http://127.0.0.1:{self.port}"
        self.headers = {"Authorization": f"Bearer {self.address.partition('token=')[2]}"}
        text = urllib.request.urlopen(self.address).read()
        self.start = {
            "listening": listening,
            "text": time.perf_counter() - began,
            "after": time.perf_counter() - began - listening,
            "cpu": self.cpu(),
            "bytes": len(text),
        }

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def get(self, path: str) -> tuple[float, bytes]:
        began = time.perf_counter()
        request = urllib.request.Request(self.home + path, headers=self.headers)
        body = urllib.request.urlopen(request).read()
        return time.perf_counter() - began, body

    def post(self, path: str, body: bytes) -> dict:
        request = urllib.request.Request(self.home + path, body, self.headers)
        return json.load(urllib.request.urlopen(request))

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()


def first(repeats: int) -> dict:
    starts: dict[str, list[dict]] = {"studio": [], "bare": []}
    for _ in range(repeats + 1):  # the first of each fills the caches and is left out
        for name, command in (("studio", STUDIO), ("bare", [sys.executable, "-c", BARE])):
            served = Served(command)
            starts[name].append(served.start)
            served.end()
    middle = {
        name: {key: float(median([run[key] for run in runs[1:]])) for key in runs[0]}
        for name, runs in starts.items()
    }
    ratio = {key: middle["studio"][key] / middle["bare"][key] for key in ("text", "cpu")}
    return {**middle, "ratio": ratio}


def written(path: Path, rows: int) -> None:
    """Facts of four words over a vocabulary of 1,000, with one label of 200 each."""
    rng = random.Random(20)
    words = [f"w{i}" for i in range(1000)]
    with open(path, "w") as file:
        for i in range(rows):
            tokens = [words[i % 1000], words[i // 1000 % 1000], *rng.choices(words, k=2)]
            file.write(json.dumps({"input": tokens, "label": f"l{rng.randrange(200)}"}) + "\n")


def large(rows: int) -> dict:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rows.jsonl"
        written(path, rows)
        began, before = time.perf_counter(), os.times()
        subprocess.run(
            [sys.executable, "-m", "byheart", "stats", str(path), "--json"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        after = os.times()
        stats = {
            "seconds": time.perf_counter() - began,
            "cpu": after.children_user - before.children_user,
        }
        bare, served = Served([sys.executable, "-c", BARE]), Served(STUDIO)
        try:
            alone = [bare.get("/")[0] for _ in range(50)]
            began = time.perf_counter()
            job = served.post("/data?name=rows.jsonl", path.read_bytes())["job"]
            sent, waits, stages = time.perf_counter() - began, [], set()
            while True:
                wait, body = served.get("/state")
                waits.append(wait)
                (one,) = [x for x in json.loads(body)["jobs"] if x["id"] == job]
                stages.add(one["stage"])
                if one["status"] not in ("waiting", "running"):
                    break
                time.sleep(0.02)
            assert one["status"] == "done", one["error"]
            read = time.perf_counter() - began
            tables = f"/jobs/{job}/tables/rows?count=60&first="
            places = (0, rows // 2, max(0, rows - 60)) * 10
            window = [served.get(f"{tables}{x}")[0] for x in places]
            shown = in_browser(served, rows)
        finally:
            bare.end()
            served.end()
    return {
        "rows": rows,
        "stats": stats,
        "upload": sent,
        "read": read,
        "read_ratio": read / stats["seconds"],
        "stages": sorted(stages),
        "asked": len(waits),
        "state": {"median": float(median(waits)), "longest": max(waits)},
        "window": {"median": float(median(window)), "longest": max(window)},
        "bare": {"median": float(median(alone)), "longest": max(alone)},
        "browser": shown,
    }


def in_browser(served: Served, rows: int) -> dict | None:
    """Seconds in a browser; None where there is none."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if program is None:
        return None
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        began = time.perf_counter()
        page.goto(served.address, wait_until="commit")
        page.get_by_text("Drop a file").wait_for()
        text = time.perf_counter() - began
        box = page.locator("#screen-drop .window").first
        box.locator("tbody tr").nth(3).wait_for()
        shown = time.perf_counter() - began
        began = time.perf_counter()
        box.evaluate("x => { x.scrollTop = x.scrollHeight }")
        box.get_by_text(f"{rows:,}", exact=True).wait_for()
        last = time.perf_counter() - began
        lines = box.locator("tbody tr").count()
        browser.close()
    return {"text": text, "rows": shown, "last_row": last, "lines_in_page": lines}


def measure(options: Options) -> dict:
    rows, repeats = (10, 1) if options.tiny else (100_000, 5)
    return {"machine": machine(), "first": first(repeats), "large": large(rows)}


def markdown(results: dict) -> str:
    first, rows = results["first"], results["large"]
    body = [
        ("start to first text, s", *(f"{first[x]['text']:.2f}" for x in ("studio", "bare"))),
        ("CPU of the start, s", *(f"{first[x]['cpu']:.2f}" for x in ("studio", "bare"))),
        ("wait for an answer while a file is read, ms", *(
            f"{1000 * rows[x]['median']:.1f}" for x in ("state", "bare"))),
        (f"read a file of {rows['rows']:,} rows, s (beside it: `byheart stats`)",
         f"{rows['read']:.1f}", f"{rows['stats']['seconds']:.1f}"),
    ]  # fmt: skip
    return table(("", "page", "bare application"), body)


def missed(results: dict) -> list[str]:
    slow = results["first"]["studio"]["after"] > LIMIT
    return [f"the first text later than {LIMIT} s after the server starts"] if slow else []
