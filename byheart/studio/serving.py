"""Serve the page on this machine until it is interrupted."""

import asyncio
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from ..errors import ByheartError
from .app import create_app
from .desk import Desk, Source

HOST, USUAL = "127.0.0.1", 8642


class Server(uvicorn.Server):
    """A server whose pages hear at once that it ends, so that it need not wait for them."""

    def __init__(self, config: uvicorn.Config, desk: Desk, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.desk, self.ready = desk, ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready()

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.desk.closing = True
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: Any = None) -> None:
        self.desk.closing = True
        await self.desk.notify()
        await super().shutdown(sockets)


def listening(port: int | None) -> socket.socket:
    """A socket of the loopback interface: this port, or the usual one, or any that is free."""
    for tried in (USUAL, 0) if port is None else (port,):
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, tried))
            found.listen(128)
            return found
        except OSError:
            found.close()
    raise ByheartError(f"port {port} is in use; choose another one, or none.")


def serve(
    data: Path | None,
    folders: tuple[Path, ...],
    port: int | None,
    browser: bool,
    announce: Callable[[str, int], None],
) -> None:
    """Serve until Ctrl-C; all files are removed at the end."""
    source = None
    if data is not None:
        if not data.exists():
            raise ByheartError(f"{data} does not exist.")
        size = data.stat().st_size if data.is_file() else None
        source = Source("given", data.name, data.resolve(), size)
    for folder in folders:
        if not folder.is_dir():
            raise ByheartError(f"{folder} is not a directory.")
    open_socket = listening(port)
    number, token = open_socket.getsockname()[1], secrets.token_urlsafe(24)
    address = f"http://{HOST}:{number}/#token={token}"

    def ready() -> None:
        announce(address, number)
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    async def main() -> None:
        desk = Desk(tuple(folder.resolve() for folder in folders))
        config = uvicorn.Config(
            create_app(desk, token, number, source),
            log_level="error",
            access_log=False,
            lifespan="on",
            ws="none",
            timeout_graceful_shutdown=2,
            server_header=False,
        )
        try:
            await Server(config, desk, ready).serve([open_socket])
        finally:
            await desk.close()

    asyncio.run(main())
