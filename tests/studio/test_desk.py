"""The state of the page: jobs wait, run once, stop and are remembered. Workers are played here."""

import asyncio
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="the page needs Starlette")

from byheart.errors import ByheartError
from byheart.studio import desk as desks
from byheart.studio.desk import Desk, Source
from byheart.studio.files import MOST, read_window, write_table


class Played:
    """A worker whose events the test tells."""

    def __init__(self, tell):
        self.tell, self.job, self.begun, self.killed = tell, None, [], 0

    async def warm(self):
        pass

    async def begin(self, job, task, place, arguments):
        self.job = job
        self.begun.append((job, task))

    def say(self, **event):
        job = self.job
        if "finished" in event or "error" in event:
            self.job = None
        self.tell({"job": job, **event})

    async def stop(self):
        self.killed += 1
        self.job = None


def played(scene):
    """Run a scene with a desk whose workers are played."""

    async def run():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(desks, "Worker", Played)
            desk = Desk()
            try:
                path = desk.home / "a.jsonl"
                path.write_text("{}")
                await desk.take(Source("f", "a.jsonl", path, 2))
                await scene(desk)
            finally:
                await desk.close()
            assert not desk.home.exists()

    asyncio.run(run())


def test_nothing_runs_twice():
    async def scene(desk):
        reading = desk.workers["reading"]
        first = desk.jobs[desk.data.jobs["read"]]
        assert (await desk.ask("read", {})).id == first.id
        reading.say(finished={"sequences": 1})
        await asyncio.sleep(0)
        assert (await desk.ask("read", {})).id == first.id and first.status == "done"
        other = await desk.ask("read", {"loading": {"unit": "char"}})
        assert other.id != first.id and desk.data.loading == {"unit": "char"}
        assert [task for _, task in reading.begun] == ["read", "read"]

    played(scene)


def test_jobs_of_one_worker_wait_for_each_other():
    async def scene(desk):
        reading = desk.workers["reading"]
        second = await desk.ask("compare", {})
        assert second.status == "waiting"
        reading.say(stage="loading", total=7)
        reading.say(done=3)
        job = desk.jobs[desk.data.jobs["read"]].json()
        assert (job["stage"], job["done"], job["total"]) == ("loading", 3, 7)
        reading.say(stage="counting")  # a stage without a total forgets the old one
        assert desk.jobs[job["id"]].total is None
        reading.say(finished={})
        await asyncio.sleep(0.01)
        assert second.status == "running" and reading.job == second.id

    played(scene)


def test_two_that_ask_at_once_get_one_after_the_other():
    async def scene(desk):
        building = desk.workers["building"]
        begin = building.begin

        async def slowly(*task):
            await asyncio.sleep(0.01)  # as a process takes to start
            await begin(*task)

        building.begin = slowly
        asked = [desk.ask("compile", {"seed": seed}) for seed in (1, 2, 1)]
        one, two, again = await asyncio.gather(*asked)
        assert one is again and [x.status for x in (one, two)] == ["running", "waiting"]
        assert [job for job, _ in building.begun] == [one.id]

    played(scene)


def test_a_file_that_changed_is_read_again():
    async def scene(desk):
        reading = desk.workers["reading"]
        reading.say(error=f"{desk.data.path}, line 2: not JSON.")
        first = desk.jobs[desk.data.jobs["read"]]
        assert first.error == "a.jsonl, line 2: not JSON."  # by the name that its user knows
        second = await desk.ask("read", {})
        reading.say(finished={})
        assert (await desk.ask("read", {})).id == second.id
        os.utime(desk.data.path, ns=(1, 1))
        assert (await desk.ask("read", {})).id not in (first.id, second.id)

    played(scene)


def test_stopping_kills_what_runs_and_only_that():
    async def scene(desk):
        reading = desk.workers["reading"]
        first, second = desk.jobs[desk.data.jobs["read"]], await desk.ask("compare", {})
        await desk.stop(second.id)
        assert (second.status, reading.killed) == ("stopped", 0)
        third = await desk.ask("compare", {})  # a stopped job is no reason not to try again
        assert third.id != second.id
        await desk.stop(first.id)
        assert (first.status, reading.killed) == ("stopped", 1)
        assert not first.place.exists() and reading.job == third.id
        desk.receive({"job": first.id, "finished": {}})  # too late
        assert first.status == "stopped"

    played(scene)


def test_reading_in_another_way_does_not_wait_for_a_comparison():
    async def scene(desk):
        reading = desk.workers["reading"]
        reading.say(finished={})
        await asyncio.sleep(0.01)
        old = await desk.ask("compare", {})
        new = await desk.ask("read", {"loading": {"unit": "char"}})
        assert (old.status, new.status) == ("stopped", "running") and reading.killed == 1
        assert desk.data.jobs == {"read": new.id}

    played(scene)


def test_a_failure_is_told_and_can_be_tried_again():
    async def scene(desk):
        reading = desk.workers["reading"]
        reading.say(error="the file is empty.")
        job = desk.jobs[desk.data.jobs["read"]]
        assert (job.status, job.error) == ("failed", "the file is empty.")
        assert (await desk.ask("read", {})).id != job.id

    played(scene)


def test_a_read_that_fails_or_is_stopped_leaves_the_last_way_to_read():
    async def scene(desk):
        reading, source = desk.workers["reading"], desk.data
        first = desk.jobs[source.jobs["read"]]
        reading.say(finished={})
        await asyncio.sleep(0.01)
        await desk.ask("read", {"loading": {"unit": "char"}})
        reading.say(error="there is no such column.")
        assert source.loading == {}
        await asyncio.sleep(0.01)
        good = await desk.ask("read", {"loading": {"label": "b"}})
        reading.say(finished={})
        await asyncio.sleep(0.01)
        job = await desk.ask("read", {"loading": {"unit": "char"}})
        assert source.loading == {"unit": "char"}  # while it is read
        await desk.stop(job.id)
        assert source.loading == {"label": "b"}
        assert (await desk.ask("read", {})).id == good.id
        assert (await desk.ask("read", {"loading": {}})).id == first.id  # done before
        job = await desk.ask("read", {"loading": {"unit": "char"}})
        await desk.stop(job.id)
        assert source.loading == {} and "last_read" not in source.json()

    played(scene)


def test_the_data_of_a_model_stays_when_it_is_replaced():
    async def scene(desk):
        place = desk.home / "f7"
        place.mkdir()
        (place / "b.jsonl").write_text("{}")
        await desk.take(Source("f7", "b.jsonl", place / "b.jsonl", 2))
        await desk.ask("compile", {})
        desk.workers["building"].say(finished=ABOUT)
        await desk.take(Source("f", "a.jsonl", desk.home / "a.jsonl", 2))
        assert (place / "b.jsonl").exists() and desk.replaced == [place / "b.jsonl"]

    played(scene)


def test_a_new_file_stops_the_reading_of_the_old_one():
    async def scene(desk):
        old = desk.jobs[desk.data.jobs["read"]]
        path = desk.home / "b.jsonl"
        path.write_text("{}")
        await desk.take(Source("g", "b.jsonl", path, 2))
        assert old.status == "stopped" and desk.data.name == "b.jsonl"
        assert desk.jobs[desk.data.jobs["read"]].arguments["data"] == str(path)

    played(scene)


ABOUT = {"method": "hash-fold-retrieve", "form": None, "parameters": 5, "bits": 9, "editable": True}


def test_what_is_compiled_is_a_model_and_an_edit_of_it_another():
    async def scene(desk):
        building = desk.workers["building"]
        first = await desk.ask("compile", {"method": "hash-fold-retrieve"})
        building.say(finished=ABOUT)
        await asyncio.sleep(0.01)
        (made,) = desk.models.values()
        assert made.folder == first.place / "model" and made.data == desk.data.path
        edits = [{"edit": "change", "input": ["a"], "label": "b"}]
        job = await desk.ask("edit", {"model": made.id, "edits": edits})
        assert job.arguments["data"] == str(desk.data.path)
        assert job.arguments["folder"] == str(made.folder)
        building.say(finished=ABOUT)
        await asyncio.sleep(0.01)
        changed = list(desk.models.values())[-1]
        assert changed.data == job.place / "data.jsonl" and changed.loading == {}
        assert changed.name == "hash-fold-retrieve, edited"

    played(scene)


def test_old_jobs_are_forgotten_but_not_those_that_made_models(monkeypatch):
    monkeypatch.setattr(desks, "MAX_JOBS", 3)

    async def scene(desk):
        desk.workers["reading"].say(finished={})
        made = await desk.ask("compile", {})
        desk.workers["building"].say(finished=ABOUT)
        await asyncio.sleep(0.01)
        (model,) = desk.models
        for text in "abcdef":
            await desk.ask("ask", {"model": model, "text": text})
            desk.workers["asking"].say(finished={})
            await asyncio.sleep(0.01)
        assert made.id in desk.jobs and made.place.exists()
        assert len(desk.jobs) <= 5 and "j1" not in desk.jobs

    played(scene)


def test_everybody_who_follows_hears_the_same():
    async def scene(desk):
        one, two = desk.follow(), desk.follow()
        before = [json.loads((await anext(x)).removeprefix("data: ")) for x in (one, two)]
        assert before[0] == before[1] == desk.snapshot() | {"jobs": before[0]["jobs"]}
        desk.workers["reading"].say(finished={"contexts": 4})
        after = [json.loads((await anext(x)).removeprefix("data: ")) for x in (one, two)]
        assert after[0]["jobs"][0]["status"] == after[1]["jobs"][0]["status"] == "done"
        assert after[0]["version"] > before[0]["version"]
        late = json.loads((await anext(desk.follow())).removeprefix("data: "))
        assert late["jobs"][0]["summary"] == {"contexts": 4}  # whoever comes later hears it, too

    played(scene)


def test_unknown_tasks_and_models_are_refused():
    async def scene(desk):
        for task, asked in (("none", {}), ("ask", {"model": "m7"}), ("edit", {})):
            with pytest.raises(ByheartError):
                await desk.ask(task, asked)

    played(scene)


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers()), max_size=30), st.data())
def test_a_window_of_a_table_is_what_was_written(tmp_path_factory, rows, data):
    place = tmp_path_factory.mktemp("table")
    order = data.draw(st.permutations(range(len(rows))))
    assert write_table(place, "rows", rows, {"other": order}) == len(rows)
    first, count = data.draw(st.integers(0, 40)), data.draw(st.integers(0, 40))
    for name, wanted in (("rows", rows), ("rows-other", [rows[i] for i in order])):
        found = json.loads(read_window(place, name, first, count))
        assert found["rows"] == wanted[first : first + count] and found["total"] == len(rows)


def test_a_window_is_never_the_whole_of_a_long_table(tmp_path):
    write_table(tmp_path, "rows", ({"row": i} for i in range(100_000)))
    found = json.loads(read_window(tmp_path, "rows", 99_990, 1_000_000))
    assert [row["row"] for row in found["rows"]] == list(range(99_990, 100_000))
    assert len(json.loads(read_window(tmp_path, "rows", 0, 10**9))["rows"]) == MOST
