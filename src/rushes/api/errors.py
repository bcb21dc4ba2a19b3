"""Turns everything that goes wrong into problem+json: ours, the framework's, the unforeseen."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from rushes.api.problems import MEDIA_TYPE, describe, problem
from rushes.errors import RushesError

log = logging.getLogger(__name__)

CODES = {
    400: "MALFORMED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    406: "NOT_ACCEPTABLE",
    408: "TOO_SLOW",
    413: "TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    416: "RANGE_NOT_SATISFIABLE",
}
WAIT_S = 2


def install(app: FastAPI) -> None:
    """Let no error leave in another form."""
    app.add_exception_handler(RushesError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _of_the_framework)
    app.add_exception_handler(ClientDisconnect, _left)
    app.add_exception_handler(Exception, _unforeseen)


def answer(
    request: Request, told: dict[str, object], headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return a problem with the id under which the logs know the request."""
    status = told["status"]
    assert isinstance(status, int)
    more = {"instance": request.url.path, "request_id": request.state.request_id}
    return JSONResponse({**told, **more}, status, headers, MEDIA_TYPE)


async def _ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RushesError)
    told = problem(error)
    headers: dict[str, str] = {}
    if told["status"] == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if told["status"] in (429, 503):
        headers["Retry-After"] = str(error.detail.get("retry_after", WAIT_S))
    return answer(request, told, headers)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found = [_field(one) for one in error.errors()[:20]]
    is_json = any(one["type"] == "json_invalid" for one in error.errors())
    status, code = (400, "MALFORMED") if is_json else (422, "INVALID_INPUT")
    detail = "; ".join(f"{one['pointer']}: {one['detail']}" for one in found[:3])
    return answer(request, {**describe(code, status, detail), "errors": found})


def _field(error: Mapping[str, object]) -> dict[str, str]:
    place = error["loc"]
    assert isinstance(place, tuple)
    pointer = "/".join(str(part)[:100] for part in place)
    return {"pointer": pointer, "detail": str(error["msg"])[:300], "code": str(error["type"])}


async def _of_the_framework(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = CODES.get(error.status_code, "HTTP_ERROR")
    told = describe(code, error.status_code, str(error.detail))
    return answer(request, told, error.headers)


async def _left(request: Request, _error: Exception) -> Response:
    """Answer nobody: whoever sent this did not stay to its end, which is no fault of ours."""
    log.info("whoever sent request %s left before its end", request.state.request_id)
    return Response(status_code=400)


async def _unforeseen(request: Request, error: Exception) -> JSONResponse:
    log.error("request %s failed", request.state.request_id, exc_info=error)
    hint = "the logs of the server have it under the request id"
    return answer(request, {**describe("INTERNAL", 500, "something broke here"), "hint": hint})
