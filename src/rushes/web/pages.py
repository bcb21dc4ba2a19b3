"""Serves the page: one shell for every address of it, and the files that the shell names.

The shell holds nothing about anybody, so anybody may have it; what it shows comes from the API,
which asks who is there.
"""

from __future__ import annotations

import html
from functools import cache

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rushes.errors import NotFound
from rushes.web import static

PATHS = (
    *("/", "/login", "/upload", "/search", "/clips", "/v/{id}", "/jobs", "/jobs/{id}"),
    *("/failed", "/workers", "/system", "/docs"),
)
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' blob: data:",
    "font-src": "'self'",
    "media-src": "'self' blob:",
    "connect-src": "'self'",
    "worker-src": "'self' blob:",
    "manifest-src": "'self'",
    "object-src": "'none'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "require-trusted-types-for": "'script'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in POLICY.items()),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
FOR_EVER = "public, max-age=31536000, immutable"


def install(application: Starlette) -> None:
    """Add the page to the server, after all that it serves already."""
    for path in PATHS:
        application.router.routes.append(Route(path, show_shell))
    application.router.routes.append(Route("/static/{tag}/{name:path}", send_file))


def show_shell(request: Request) -> Response:
    """Return the shell. Which page it is the page finds out itself."""
    tag = f'"{static.files().tag}"'
    headers = {**HEADERS, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(None, 304, headers)
    text = _shell(request.scope.get("root_path", ""))
    return Response(text, headers=headers, media_type=static.TYPES[".html"])


def send_file(request: Request) -> Response:
    """Return a file of the page, packed for whoever takes it so."""
    known, name = static.files(), request.path_params["name"]
    file = known.by_name.get(name)
    if file is None or request.path_params["tag"] != known.tag:
        raise NotFound("there is no such file of the page", hint="reload the page")
    headers = {"Cache-Control": FOR_EVER, "Content-Type": file.type, "Vary": "Accept-Encoding"}
    if file.packed is None or "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(file.body, headers=headers)
    return Response(file.packed, headers={**headers, "Content-Encoding": "gzip"})


@cache
def _shell(root_path: str) -> str:
    """Fill in where the server is mounted, and what the browser should fetch at once."""
    root = html.escape(root_path)
    files = f"{root}/static/{static.files().tag}"
    modules = "\n    ".join(
        f'<link rel="modulepreload" href="{files}/{name}" />' for name in static.needed()
    )
    text = static.files().by_name[static.SHELL].body.decode()
    return text.replace("{root}", root).replace("{files}", files).replace("{modules}", modules)
