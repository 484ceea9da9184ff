"""The page in a browser: every screen, and what goes wrong. Waits are for facts, never for seconds.

The workers are frozen where something must be seen while it runs.
"""

import json
import os
import re
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("starlette", reason="the page needs Starlette")
pytest.importorskip("uvicorn", reason="the page needs uvicorn")
LONG = 120_000  # milliseconds: a busy machine is no error

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def context(chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(LONG)
    yield context
    context.close()


@pytest.fixture(scope="module")
def page(context, studio):
    """One page for the tests that leave its data and models as they are, in any order."""
    return opened(context, studio)


@pytest.fixture
def own(chromium, own_studio):
    """(page, context, studio) for a test that changes data or stops workers."""
    context = chromium.new_context()
    context.set_default_timeout(LONG)
    yield opened(context, own_studio), context, own_studio
    context.close()


def opened(context, studio):
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda x: page.problems.append(x.text) if x.type == "error" else None)
    page.requested = []
    page.on("request", lambda request: page.requested.append(request.url))
    page.goto(studio.address)
    return page


@pytest.fixture(scope="module")
def compiled(page):
    """The page with an editable model of the facts, on the screen that compiled it."""
    return compile_facts(page)


def compile_facts(page):
    compile_ = screen(page, "compile")
    compile_.get_by_text(re.compile(r"\d+ methods apply")).wait_for()
    compile_.get_by_label("Make it editable").check()
    compile_.get_by_role("button", name="Compile", exact=True).click()
    compile_.locator(".stamp", has_text="PROVED").wait_for()
    return page


def screen(page, name):
    page.click(f"nav a[href='#{name}']")
    return page.locator(f"#screen-{name}")


def state(page):
    """As the page itself asks: with the token that its tab keeps."""
    return page.evaluate(
        """fetch("/state", {headers: {
            Authorization: `Bearer ${sessionStorage.getItem("byheart-token")}`,
        }}).then((x) => x.json())"""
    )


def jobs(page, task):
    return [job for job in state(page)["jobs"] if job["task"] == task]


def test_drop_shows_what_was_read(page, studio):
    drop = screen(page, "drop")
    drop.get_by_text("24 sequences, 24 contexts").wait_for()
    assert studio.token not in page.url  # it is not left in the history
    drop.get_by_text("No context has two labels.").wait_for()
    drop.get_by_text("capital of france").first.wait_for()
    assert drop.locator(".bar .mark:not(.own)").count() == 2
    assert "what the worst labels of as many contexts need" in drop.inner_text()


def test_compile_proves(compiled):
    page = compiled
    compile_ = screen(page, "compile")
    compile_.get_by_text("24 of 24 labels correct, each evaluated in exact arithmetic").wait_for()
    certificate = json.loads(compile_.get_by_label("certificate.json").inner_text())
    assert certificate["verified"]["evidence"] == "proved"
    with page.expect_download() as download:
        compile_.get_by_text("Download the model folder (.zip)").click()
    assert download.value.suggested_filename == "hash-fold-retrieve.model.zip"
    screen(page, "drop").locator(".bar .mark.own").wait_for()


def test_ask_shows_the_way_of_the_answer(compiled):
    page = compiled
    ask = screen(page, "ask")
    ask.get_by_label("Question").fill("capital of italy")
    page.keyboard.press("Enter")
    ask.locator(".big", has_text="rome").wait_for()
    picture = ask.locator("svg.drawing")
    picture.wait_for()
    stages = int(ask.locator("input[type=range]").get_attribute("max"))
    assert picture.locator("[data-stage].lit").count() > stages
    assert picture.locator("[data-part=read]").count() >= 1
    ask.get_by_label("Stage", exact=True).focus()
    page.keyboard.press("Home")  # the first stage, by the keyboard
    ask.get_by_text(f"1 of {stages}: embed.").wait_for()
    lit = picture.locator("[data-stage].lit").evaluate_all("x => x.map((y) => y.dataset.stage)")
    assert set(lit) == {"0"}
    ask.get_by_role("button", name="Next stage").click()
    ask.get_by_text(f"2 of {stages}").wait_for()
    ask.get_by_role("button", name="Play").click()
    ask.get_by_role("button", name="Pause").wait_for()
    ask.get_by_role("button", name="Pause").click()


def test_a_table_is_asked_by_its_columns_and_recited(own):
    page = own[0]
    drop = screen(page, "drop")
    for sample in ("facts", "a short book"):
        drop.get_by_role("button", name=sample).click()
        drop.get_by_text("No context has two labels.").wait_for()
        drop.locator("h2", has_text=re.compile("facts|book")).wait_for()
    drop.get_by_role("button", name="a table").click()
    drop.get_by_label("continent: question").check()
    drop.get_by_label("capital: answer").check()
    drop.get_by_role("button", name="Read it", exact=True).click()
    drop.get_by_text("12 sequences, 12 contexts").wait_for()
    compile_ = screen(page, "compile")
    compile_.get_by_role("button", name="Compile", exact=True).click()
    compile_.locator(".stamp", has_text="PROVED").wait_for()
    ask = screen(page, "ask")
    ask.get_by_label("country", exact=True).fill("Kenya")
    ask.get_by_label("continent", exact=True).fill("Africa")
    page.keyboard.press("Enter")
    ask.locator(".big", has_text="Nairobi").wait_for()
    ask.get_by_role("button", name="Mexico|North America").click()
    ask.locator(".big", has_text="Mexico City").wait_for()
    assert ask.get_by_label("continent", exact=True).input_value() == "North America"
    ask.get_by_role("button", name="Japan | Asia").click()  # an item of the list
    ask.locator(".big", has_text="Tokyo").wait_for()
    assert ask.get_by_label("continent", exact=True).input_value() == "Asia"
    ask.get_by_role("button", name="Recite all of it").click()
    ask.get_by_text("Recited: 12 rows; all as in the file.").wait_for()
    assert '"label": "Nairobi"' in ask.get_by_label("What the model recites").inner_text()
    assert page.problems == []


def test_unknown_inputs_say_so(compiled):
    page = compiled
    ask = screen(page, "ask")
    ask.get_by_label("Question").fill("capital of atlantis")
    page.keyboard.press("Enter")
    ask.locator(".big", has_text="unknown").wait_for()
    ask.get_by_text("outside the model's vocabulary").wait_for()
    ask.get_by_label("Question").fill("of capital italy")
    page.keyboard.press("Enter")
    ask.locator(".big", has_text="not in the data").wait_for()


def test_compare_sorts_and_shows_theorems(page):
    compare = screen(page, "compare")
    compare.locator("svg.drawing").wait_for()
    table = compare.locator("table.rows").first
    sizes = table.locator("tbody tr td:nth-child(2)").all_inner_texts()
    numbers = [float(re.sub("[^0-9.]", "", x)) for x in sizes if re.search("[0-9]", x)]
    assert numbers == sorted(numbers)
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("parameters")
    table.get_by_role("button", name="parameters").click()
    assert table.locator("th[aria-sort=descending]").count() == 1
    table.locator("tr", has_text="one-layer-smooth").first.focus()
    compare.locator(".theorem", has_text="Madden et al. (2024), Theorem 5").wait_for()
    table.locator("tr", has_text="staircase").first.hover()
    compare.locator(".theorem h3", has_text="staircase").wait_for()
    slider = compare.get_by_label("Contexts", exact=True)
    slider.focus()
    page.keyboard.press("End")
    compare.locator("output", has_text=re.compile(r"^\d\d,\d\d\d contexts")).wait_for()
    assert compare.locator("svg .cursor").get_attribute("x1")


def test_edit_flips_bits_and_forgets(own):
    page = compile_facts(own[0])
    edit = screen(page, "edit")
    edit.get_by_role("button", name="capital of italy").click()
    assert edit.get_by_label("Item", exact=True).input_value() == "capital of italy"
    edit.get_by_label("New label").fill("lima")
    edit.get_by_role("button", name="Change its label").click()
    edit.get_by_text(re.compile(r"\d+ of \d+ parameters differ, in \d+ bits")).wait_for()
    edit.get_by_text("capital of italy: rome, then lima").wait_for()
    hashes = edit.locator("table.lines td.remark").all_inner_texts()[:2]
    assert len(set(hashes)) == 2 and all(re.fullmatch("[0-9a-f]{64}", x) for x in hashes)
    edit.get_by_label("Item", exact=True).fill("river of peru")
    edit.get_by_role("button", name="Forget it").click()
    edit.get_by_text("1 item forgotten").wait_for()
    edit.get_by_text("Compiled from the changed data alone").wait_for()
    edit.get_by_role("button", name="Audit it").click()
    audit = page.locator("#screen-audit")
    audit.get_by_role("button", name="Audit", exact=True).click()
    audit.get_by_text("It recites 22 of 24 items").wait_for()  # one is changed, one forgotten
    screen(page, "edit")
    edit.get_by_label("Item", exact=True).fill("river of atlantis")
    edit.get_by_role("button", name="Forget it").click()
    edit.get_by_text("is not an item of the data").wait_for()


def test_audit_shows_items_against_strangers(compiled, tmp_path):
    page = compiled
    strangers = tmp_path / "strangers.jsonl"
    rows = [{"input": ["of", "river", "peru"], "label": "paris"}] * 4
    strangers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    audit = screen(page, "audit")
    audit.get_by_label("Model").select_option(index=0)
    audit.get_by_label("A file of non-members").set_input_files(strangers)
    audit.get_by_label("Non-members", exact=True).locator(
        "option", has_text="strangers.jsonl"
    ).wait_for(state="attached")
    chosen = audit.locator("select").nth(2).locator("option:checked:not([value=''])")
    chosen.wait_for(state="attached")
    audit.get_by_role("button", name="Audit").click()
    audit.locator("svg.drawing").wait_for()
    audit.get_by_text("24 of 24").first.wait_for()
    audit.locator(".window tbody tr").nth(5).wait_for()
    assert "AUC" in audit.inner_text()


def test_stop_a_reload_in_the_middle_and_a_second_tab(own):
    page, context, studio = own
    compile_ = screen(page, "compile")
    compile_.get_by_text(re.compile(r"\d+ methods apply")).wait_for()
    frozen = studio.freeze()
    compile_.get_by_label("Make it editable").uncheck()
    assert compile_.get_by_role("button", name="Compile with").count() == 3  # gpt2 takes text
    compile_.locator("summary", has_text=re.compile(r"^\d+ more")).click()
    compile_.get_by_role("button", name="Compile with one-layer", exact=True).click()
    compile_.get_by_role("button", name="Stop").wait_for()
    page.reload()  # in the middle of it
    compile_.get_by_role("button", name="Stop").wait_for()
    second = context.new_page()
    second.goto(studio.address)
    screen(second, "compile")
    second.locator("#screen-compile").get_by_role("button", name="Stop").wait_for()
    second.locator("#screen-compile").get_by_role("button", name="Stop").click()
    compile_.get_by_text("Stopped. Nothing was kept of it.").wait_for()
    for child in frozen:
        if os.path.exists(f"/proc/{child}"):
            os.kill(child, signal.SIGCONT)
    # the same again, and this time it may end; both tabs see the same job
    compile_.locator("summary", has_text=re.compile(r"^\d+ more")).click()
    compile_.get_by_role("button", name="Compile with one-layer", exact=True).click()
    for one in (page, second):
        one.locator("#screen-compile .stamp", has_text="PROVED").wait_for()
    ours = [x for x in jobs(page, "compile") if x["asked"].get("method") == "one-layer"]
    assert [job["status"] for job in ours] == ["stopped", "done"]
    second.close()


def test_a_page_that_is_cut_off_comes_back(compiled, context, studio):
    """A closed laptop: the stream cannot be had, and is asked for again until it can."""
    other = context.new_page()
    other.route("**/events", lambda route: route.abort())
    other.goto(studio.address)
    screen(other, "ask")
    other.locator("#lost").wait_for(state="visible")
    other.unroute("**/events")
    other.locator("#lost").wait_for(state="hidden")
    other.locator("#screen-ask").get_by_label("Model").wait_for()
    other.close()


def test_a_bad_file_gets_a_sentence_and_hostile_words_stay_words(own, tmp_path):
    page, _, _ = own
    drop = screen(page, "drop")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"input": ["a"], "label": "b"}\nnot json\n')
    drop.locator("#file").set_input_files(bad)
    drop.locator(".problem", has_text="line 2").wait_for()
    hostile = tmp_path / "<img src=x onerror=alert(1)>.csv"
    rows = [("question", "answer"), (HOSTILE, "<script>1</script>"), (HOSTILE, "b")]
    hostile.write_text("".join(f'"{a.replace(chr(34), chr(34) * 2)}",{b}\n' for a, b in rows))
    drop.locator("#file").set_input_files(hostile)
    drop.get_by_text("Which column is the question").wait_for()
    assert drop.get_by_label("question: question", exact=True).is_checked()
    assert drop.get_by_label("answer: answer", exact=True).is_checked()
    assert drop.locator("td", has_text="<img src=x").count() == 2  # the first rows
    drop.get_by_role("button", name="Read it", exact=True).click()
    drop.get_by_text("1 context with two labels").wait_for()
    drop.get_by_text("line 2: <script>1</script>; line 3: b").wait_for()
    drop.locator("h2", has_text="<img src=x onerror=alert(1)>.csv").wait_for()
    assert page.locator("img").count() == 0 and page.locator("main script").count() == 0
    assert page.title() != "owned"


def test_another_page_cannot_reach_it(page, context, studio):
    """A page of another port, in the same browser; its server is sent nothing of the secret."""
    received = []
    script = """
        const sent = {method: "POST", mode: "no-cors", credentials: "include"};
        const keys = {Authorization: "Bearer " + sessionStorage.getItem("byheart-token")};
        const tries = [
          fetch("HERE/state", {headers: keys}).then((x) => x.text()),
          fetch("HERE/state", {credentials: "include"}).then((x) => x.text()),
          fetch("HERE/example", sent).then((x) => x.type + x.status),
        ];
        Promise.allSettled(tries).then((all) => {
          document.title = JSON.stringify(all.map((one) => one.value ?? "refused"));
        });
    """.replace("HERE", studio.origin)

    class Evil(BaseHTTPRequestHandler):
        def do_GET(self):
            received.append(f"{self.path}\n{self.headers}")
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            frame = f'<iframe src="{studio.origin}"></iframe>'
            self.wfile.write(
                f"<!doctype html><title>-</title>{frame}<script>{script}</script>".encode()
            )

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    other = context.new_page()
    other.goto(f"http://127.0.0.1:{server.server_port}/")
    other.wait_for_function("document.title !== '-'")
    assert json.loads(other.title()) == ["refused", "refused", "refused"]
    assert other.evaluate("[sessionStorage.length, localStorage.length, document.cookie]") == [
        0,
        0,
        "",
    ]
    visitor = opened(context, studio)  # and from a tab that has the token
    visitor.get_by_text("24 sequences, 24 contexts").wait_for()
    visitor.goto(f"http://127.0.0.1:{server.server_port}/?same-tab")
    visitor.close()
    assert len(received) >= 2 and not any(studio.token in one for one in received)
    assert not any("cookie" in one.lower() for one in received) and context.cookies() == []
    assert state(page)["data"]["name"] != "book.txt"  # the post was not only unread, it did nothing
    framed = [frame for frame in other.frames if frame is not other.main_frame]
    assert all("byheart" not in (frame.title() or "") for frame in framed)
    other.close()
    server.shutdown()


def test_without_the_token_there_is_a_page_that_knows_nothing(chromium, studio):
    fresh = chromium.new_context()
    page = fresh.new_page()
    page.goto(studio.origin)
    page.get_by_text("This page was opened without the token.").wait_for()
    assert page.evaluate("fetch('/state').then((x) => x.status)") == 403
    assert "countries.jsonl" not in page.content()
    page.goto(studio.address)  # which only adds to the address of the page that is open
    page.get_by_text("24 sequences, 24 contexts").wait_for()
    assert studio.token not in page.url
    fresh.close()


def test_narrow_and_dark(page, context, chromium, studio):
    """360 pixels wide, nothing is cut off; in the dark, letters and paper are far apart."""
    small = chromium.new_context(
        viewport={"width": 360, "height": 740},
        color_scheme="dark",
    )
    narrow = small.new_page()
    narrow.set_default_timeout(LONG)
    narrow.goto(studio.address)
    for name in ("drop", "compile", "ask", "compare", "edit", "audit"):
        narrow.goto(f"{studio.origin}/#{name}")
        narrow.locator("body[data-version]:not([data-version='0'])").wait_for()
        narrow.locator(f"#screen-{name} h1").wait_for()
        assert narrow.evaluate("document.documentElement.scrollWidth") <= 360, name
    colours = narrow.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    ink, paper = ([int(x) for x in re.findall(r"\d+", colour)[:3]] for colour in colours)
    assert contrast(ink, paper) > 7
    small.close()


def contrast(one, other):
    """The ratio of WCAG 2.2."""

    def light(colour):
        parts = [x / 255 for x in colour]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_control_has_a_name(page):
    """What a screen reader would say of it."""
    for name in ("drop", "compile", "ask", "compare", "edit", "audit"):
        screen(page, name)
        nameless = page.evaluate(
            """[...document.querySelectorAll("main :is(button, input, select, a, progress)")]
            .filter((x) => x.offsetParent && !x.textContent.trim() && !x.labels?.length)
            .filter((x) => !x.getAttribute("aria-label")).map((x) => x.outerHTML)"""
        )
        assert nameless == [], name


def test_nothing_came_from_outside_and_nothing_failed(page, studio):
    assert {url.partition("/")[0] for url in page.requested} == {"http:"}
    assert all(url.startswith(studio.origin) for url in page.requested)
    assert [x for x in page.problems if "422" not in x and "404" not in x] == []
