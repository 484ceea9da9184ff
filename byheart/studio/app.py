"""The addresses of the page: files and events out, uploads and requests in."""

import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ..errors import ByheartError
from .desk import Desk, Job, Source
from .files import read_window
from .guard import Guard
from .requests import check_nesting

STATIC = Path(__file__).parent / "static"
SAMPLES = Path(__file__).parents[1] / "data"
READ = {  # how each sample is read; of the table, whoever looks at it chooses the columns
    "book.txt": {"documents": "whole", "window": "auto"},
    "facts.jsonl": {},
    "countries.csv": {},
}
MAX_UPLOAD = 1 << 30  # bytes
MAX_REQUEST = 1 << 20  # bytes
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


def create_app(desk: Desk, token: str, port: int, source: Source | None = None) -> Starlette:
    """The application over a desk; the source is read at once."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await desk.start(source)
        try:
            yield
        finally:
            await desk.close()

    app = Starlette(
        routes=ROUTES,
        middleware=[Middleware(Guard, token=token, port=port)],
        lifespan=lifespan,
        exception_handlers={ByheartError: refuse},
    )
    app.state.desk = desk
    return app


async def static(request: Request) -> Response:
    """A file of the page, which is part of the package."""
    name = request.path_params.get("name", "index.html")
    known = {path.name: path for path in STATIC.iterdir()}
    if name not in known:
        return refused("there is no such page.", 404)
    kind = TYPES.get(known[name].suffix, "application/octet-stream")
    return FileResponse(known[name], media_type=kind)


async def events(request: Request) -> Response:
    return StreamingResponse(desk_of(request).follow(), media_type="text/event-stream")


async def state(request: Request) -> Response:
    whole = json.dumps(desk_of(request).snapshot())  # ASCII: half a character is no reason to fail
    return Response(whole, media_type="application/json")


async def answer(request: Request) -> Response:
    return sent(job_of(request).place / "answer.json", "application/json")


async def picture(request: Request) -> Response:
    name = plain(request.path_params["name"])
    return sent(job_of(request).place / f"{name}.svg", TYPES[".svg"])


async def table(request: Request) -> Response:
    place, name = job_of(request).place, plain(request.path_params["name"])
    window = [request.query_params.get(x, "0") for x in ("first", "count")]
    if not all(re.fullmatch(r"[0-9]{1,12}", text) for text in window):
        raise ByheartError("first and count are whole numbers.")
    try:
        rows = await run_in_threadpool(read_window, place, name, *map(int, window))
    except OSError:
        return refused("there is no such table.", 404)
    return Response(rows, media_type="application/json")


async def folder(request: Request) -> Response:
    """A model folder as a .zip file, to be kept."""
    desk = desk_of(request)
    model = desk.models.get(request.path_params["model"])
    if model is None or model.given:
        return refused("there is no such model.", 404)
    archive = desk.home / f"{model.id}.zip"
    if not archive.exists():
        await run_in_threadpool(zipped, model.folder, archive)
    name = f"{stored_name(model.name)}.model.zip"
    return FileResponse(archive, media_type="application/zip", filename=name)


async def data(request: Request) -> Response:
    """The changed data of a model that was edited, as .jsonl."""
    job = job_of(request)
    return sent(job.place / "data.jsonl", "application/x-ndjson", f"{job.task}-data.jsonl")


async def upload(request: Request) -> Response:
    """Take a file: the data, or with ?role=strangers one of non-members for the audit."""
    desk = desk_of(request)
    name = request.query_params.get("name", "")[:200] or "data"
    place = desk.home / desk.number("f")
    place.mkdir()
    path = place / stored_name(name)
    try:
        size = await receive(request, path)
    except (ByheartError, ClientDisconnect, OSError) as error:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, OSError):
            return refused(f"the file cannot be kept: {error.strerror or error}.", 507)
        return refused(str(error) or "the upload was interrupted.", 413)
    source = Source(place.name, name, path, size)
    if request.query_params.get("role") == "strangers":
        desk.files[source.id] = source
        desk.touch()
        return JSONResponse({"file": source.id})
    return JSONResponse({"job": (await desk.take(source)).id})


async def example(request: Request) -> Response:
    """A file that is built in."""
    name = request.query_params.get("name", "book.txt")
    if name not in READ:
        raise ByheartError("there is no such example.")
    path = SAMPLES / name
    source = Source(name, name, path, path.stat().st_size, dict(READ[name]))
    return JSONResponse({"job": (await desk_of(request).take(source)).id})


async def begin(request: Request) -> Response:
    """Begin a job, or find the one that is the same."""
    text = b""
    async for chunk in request.stream():
        text += chunk
        if len(text) > MAX_REQUEST:
            raise ByheartError("the request is too long.")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):  # brackets inside brackets, without end
        body = None
    if not isinstance(body, dict):
        raise ByheartError("the request is not a JSON object.")
    check_nesting(body)
    task, asked = body.get("task"), body.get("arguments", {})
    if not isinstance(task, str) or not isinstance(asked, dict):
        raise ByheartError("a request is a task with its arguments.")
    return JSONResponse({"job": (await desk_of(request).ask(task, asked)).id})


async def stop(request: Request) -> Response:
    await desk_of(request).stop(request.path_params["job"])
    return JSONResponse({})


async def refuse(request: Request, error: Exception) -> Response:
    return refused(str(error), 422)


ROUTES = [
    Route("/", static),
    Route("/static/{name}", static),
    Route("/events", events),
    Route("/state", state),
    Route("/data", upload, methods=["POST"]),
    Route("/example", example, methods=["POST"]),
    Route("/jobs", begin, methods=["POST"]),
    Route("/jobs/{job}/stop", stop, methods=["POST"]),
    Route("/jobs/{job}/answer", answer),
    Route("/jobs/{job}/data", data),
    Route("/jobs/{job}/pictures/{name}", picture),
    Route("/jobs/{job}/tables/{name}", table),
    Route("/models/{model}", folder),
]


def desk_of(request: Request) -> Desk:
    return request.app.state.desk


def job_of(request: Request) -> Job:
    job = desk_of(request).jobs.get(request.path_params["job"])
    if job is None:
        raise ByheartError("there is no such job.")
    return job


def sent(path: Path, kind: str, name: str | None = None) -> Response:
    if not path.is_file():
        return refused("there is nothing here yet.", 404)
    return FileResponse(path, media_type=kind, filename=name)


def refused(sentence: str, code: int) -> Response:
    return JSONResponse({"error": sentence}, code)


def plain(name: str) -> str:
    """A name of letters and dashes: it leads to no other folder."""
    if not re.fullmatch(r"[a-z]+(-[a-z]+)*", name):
        raise ByheartError("there is no such name.")
    return name


def stored_name(name: str) -> str:
    """A file name on this disk for a name from a browser: its endings say how it is read.

    >>> stored_name("../../etc/pass wd.csv.gz"), stored_name("<img onerror=x>.jsonl")
    ('pass_wd.csv.gz', '_img_onerror_x_.jsonl')
    """
    last = re.split(r"[/\\]", name)[-1]
    kept = re.sub(r"[^A-Za-z0-9._-]", "_", last)[-80:].lstrip(".")
    return kept or "data"


async def receive(request: Request, path: Path) -> int:
    """Stream the body of a request to a file; returns its size."""
    size = 0
    limit = f"the file is larger than {MAX_UPLOAD >> 20:,} MB; use the command line."
    if int(request.headers.get("content-length") or 0) > MAX_UPLOAD:
        raise ByheartError(limit)
    with open(path, "wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size > MAX_UPLOAD:
                raise ByheartError(limit)
            await run_in_threadpool(file.write, chunk)
    return size


def zipped(folder: Path, archive: Path) -> None:
    part = shutil.make_archive(str(archive.with_suffix(".part")), "zip", folder)
    Path(part).rename(archive)
