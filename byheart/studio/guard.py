"""Who may ask: only pages of this server, opened by somebody who has its address.

The server listens on the loopback interface, which every program and every page of a browser on
this machine can reach. So a request must name this server as its host (another name that leads here
is an attack by DNS), must carry the token of the address that was printed, and must not come from a
page of somebody else.
"""

import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
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
        self.app, self.token = app, token.encode()
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self.hosts |= {"127.0.0.1", "localhost"} if port == 80 else set()
        self.cookie = f"byheart-{port}"  # cookies of one host are shared by all of its ports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        admitted, reason, code = self.judge(scope)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if admitted:
                    value = f"{self.cookie}={self.token.decode()}; Path=/; HttpOnly"
                    headers.append("Set-Cookie", f"{value}; SameSite=Strict")
            await send(message)

        app = PlainTextResponse(f"byheart: {reason}\n", code) if reason else self.app
        await app(scope, receive, sending)

    def judge(self, scope: Scope) -> tuple[bool, str, int]:
        """Whether the address has the token, and why the request is refused, if it is."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self.hosts:
            return False, "this server does not have that name.", 400
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        page = headers.get("sec-fetch-mode", "navigate") == "navigate" and scope["method"] == "GET"
        if origin is not None and origin != f"http://{host}":
            return False, "requests from other pages are refused.", 403
        if site not in ("none", "same-origin") and not page:
            return False, "requests from other pages are refused.", 403
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if scope["path"] == "/" and self.matches((query.get("token") or [""])[0]):
            return True, "", 200
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            morsel = None
        if morsel is None or not self.matches(morsel.value):
            return False, "open the address that byheart studio printed; it has the token.", 403
        return False, "", 200

    def matches(self, word: str) -> bool:
        return secrets.compare_digest(word.encode("utf-8", "replace"), self.token)
