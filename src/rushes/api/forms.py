"""A small film in a form: one file, and words about it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from rushes.errors import Invalid
from rushes.library.sink import storing

TYPE = "multipart/form-data"
FIELDS = ("title", "tags", "qualities", "languages", "text", "priority", "duplicate", "sha256")
LONGEST = 10_000
HINT = "a form waits in the folder for temporary files; /api/uploads needs no room there"
BODY = {
    "required": True,
    "content": {
        TYPE: {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": {"type": "string", "contentMediaType": "application/octet-stream"},
                    **{name: {"type": "string"} for name in FIELDS},
                },
                "additionalProperties": False,
            }
        }
    },
}
"""What OpenAPI says of it."""


@asynccontextmanager
async def form_of(request: Request) -> AsyncIterator[tuple[UploadFile, dict[str, str]]]:
    """Read a form. It is on the disk of this machine until the block is left."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != TYPE:
        raise HTTPException(415, f"send the film as {TYPE}")
    with storing(HINT):
        form = await request.form(max_files=1, max_fields=len(FIELDS), max_part_size=LONGEST)
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise Invalid("the form has no file", hint="its field is called: file")
        fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
        if len(fields) + 1 < len(form.multi_items()):
            raise Invalid("a field comes twice, or there is more than one file")
        yield file, fields
    finally:
        await form.close()


def sha256(file: UploadFile) -> str:
    """Return the hash of a file that was sent."""
    return hashlib.file_digest(file.file, "sha256").hexdigest()  # type: ignore[arg-type]
