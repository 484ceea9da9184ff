"""Who may ask: only pages of this server, opened by somebody who has its address.

The server listens on the loopback interface, which every program and every page of a browser on
this machine can reach. So a request must name this server as its host (another name that leads here
is an attack by DNS), must not come from a page of somebody else, and must carry the token of the
address that was printed, in a header that only our page sends: a cookie would reach every port of
this machine. The files of the page alone are given to anybody: they are those of the package.
"""

import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
OPEN = "/static/"  # the page, which is the same for everybody
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses what does not come from a page of this server, and sends the headers of all pages."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.wanted = app, f"Bearer {token}".encode()
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self.hosts |= {"127.0.0.1", "localhost"} if port == 80 else set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        reason, code = self.judge(scope)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        app = PlainTextResponse(f"byheart: {reason}\n", code) if reason else self.app
        await app(scope, receive, sending)

    def judge(self, scope: Scope) -> tuple[str, int]:
        """Why the request is refused, if it is."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self.hosts:
            return "this server does not have that name.", 400
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        page = headers.get("sec-fetch-mode", "navigate") == "navigate" and scope["method"] == "GET"
        if origin is not None and origin != f"http://{host}":
            return "requests from other pages are refused.", 403
        if site not in ("none", "same-origin") and not page:
            return "requests from other pages are refused.", 403
        given = headers.get("authorization", "").encode("utf-8", "replace")
        shown = scope["path"] == "/" or scope["path"].startswith(OPEN)
        if not shown and not secrets.compare_digest(given, self.wanted):
            return "open the address that byheart studio printed; it has the token.", 403
        return "", 200
