"""Options that several commands take, and what their texts stand for."""

from __future__ import annotations

from typing import Annotated

import typer

VideoId = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A video: any unique beginning or end of its id, or @last for the newest.",
    ),
]
Priority = Annotated[
    str, typer.Option(metavar="P", help="0 to 10, 10 first; or low, normal, high, urgent.")
]
Qualities = Annotated[
    str | None, typer.Option(metavar="LIST", help="Only these qualities, such as 720p,480p.")
]
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Only put the work into the queue; do none of it here.")
]
