"""The server: routers, errors, limits and headers, put together once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, FastAPI, Request, Response

from rushes import __version__
from rushes.api import errors, limits
from rushes.api.context import Context
from rushes.api.media import FastPath
from rushes.api.proxied import Proxied
from rushes.api.routers import (
    clips,
    events,
    health,
    jobs,
    media,
    people,
    queue,
    search,
    subtitles,
    uploads,
    videos,
    worker,
    worker_files,
    workers,
)
from rushes.api.uploads import TUS
from rushes.store.ids import new_id

API = "/api"
UPLOADS = f"{API}/uploads"
REQUEST_ID = "x-request-id"
LONGEST_ID = 64
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
ROUTERS: tuple[APIRouter, ...] = (
    *(uploads.router, videos.router, clips.router, media.router, jobs.router, events.router),
    *(search.router, subtitles.router),
    *(
        worker.router,
        worker_files.router,
        workers.router,
        queue.router,
        people.router,
        health.router,
    ),
)


def build(context: Context) -> FastAPI:
    """Return the application. It holds nothing but what the context has."""
    app = FastAPI(
        title="Rushes",
        version=__version__,
        summary="Footage in; streamable, searchable, clippable video out.",
        openapi_url="/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        root_path=context.settings.root_path,
    )
    app.state.context = context
    for router in ROUTERS:
        app.include_router(router, prefix=API)
    for router in (media.by_ticket, clips.root, health.root):
        app.include_router(router)
    errors.install(app)
    app.add_middleware(limits.Limits)
    app.middleware("http")(_identify)
    app.add_middleware(FastPath)  # it answers with headers of its own
    app.add_middleware(Proxied, trusted=context.settings.proxies())  # the outermost
    return app


async def _identify(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    """Give every request a number, and every answer its headers."""
    given = request.headers.get(REQUEST_ID, "")
    plain = given.isascii() and given.isprintable() and 0 < len(given) <= LONGEST_ID
    request.state.request_id = given if plain else new_id()
    response = await call(request)
    response.headers[REQUEST_ID] = request.state.request_id
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    wanted = HEADERS | TUS if path.startswith(UPLOADS) else HEADERS
    for name, value in wanted.items():
        response.headers.setdefault(name, value)
    return response
