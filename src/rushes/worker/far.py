"""A machine that works for a server elsewhere: how it joins, and how it begins."""

from __future__ import annotations

import logging
import random
import threading
from contextlib import closing
from pathlib import Path

from rushes import __version__
from rushes.errors import Invalid, Unavailable
from rushes.wire.http import Http, check_server, first_call
from rushes.worker import joined
from rushes.worker.joined import Joined
from rushes.worker.protocol import Introduction, Welcome

log = logging.getLogger(__name__)

TOKEN = "rsh_join_"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0


def join(server: str, token: str, who: Introduction, folder: Path) -> Joined:
    """Register this machine with a server, and keep the key in a folder.

    What can be wrong on this side is found before the server is asked: it gives each key once.
    """
    known = check_server(server)
    if not token.startswith(TOKEN):
        raise Invalid(
            "this is not a token to join", hint="an admin makes one: rushes workers invite"
        )
    joined.check_place(folder)
    with closing(Http(known, token)) as http, first_call(known):
        told = http.ask("/worker/register", who, Welcome)
    found = Joined(known, told.api_key or "", told.worker_name)
    joined.store(folder, found)
    return found


def introduce(http: Http, who: Introduction, stop: threading.Event) -> str | None:
    """Say that this worker has started, and return its owner string. None: told to stop.

    A server that is away is waited for.
    """
    pause = FIRST_PAUSE_S
    while not stop.is_set():
        try:
            told = http.ask("/worker/register", who, Welcome)
        except Unavailable as error:
            log.warning("the server does not answer, next try in %.0f s: %s", pause, error)
        else:
            if told.server_version != __version__:
                log.warning("the server is Rushes %s, this is %s", told.server_version, __version__)
            return told.owner
        stop.wait(pause * random.uniform(0.5, 1))
        pause = min(LONGEST_PAUSE_S, 2 * pause)
    return None
