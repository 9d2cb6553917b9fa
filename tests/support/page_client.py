"""A program that opens a page as a browser does, and may say whatever it likes."""

import http.client
import json
import socket
import uuid
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.support.waiting import HUNG


def own_origin(base: str) -> str:
    """The origin of the pages of a server, whose address may have a token."""
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}"


@cache
def admitted(base: str) -> dict[str, str]:
    """The header with the cookie that the token of an address gives; none without one."""
    there = urlsplit(base)
    if not there.query:
        return {}
    connection = http.client.HTTPConnection(there.netloc, timeout=HUNG)
    connection.request("GET", f"/?{there.query}")
    given = connection.getresponse().headers["Set-Cookie"]
    connection.close()
    return {"Cookie": given.partition(";")[0]}


def opened(base: str, origin: str | None, host: str | None = None) -> ClientConnection:
    """The socket of a new session of a page, with the cookie of the server.

    Args:
        base: address of the server, with its token if it has one.
        origin: of the page that opens it; None is a program without one.
        host: what it calls the server; by default its address.

    Raises:
        InvalidStatus: if it is not let in.
    """
    said = {} if origin is None else {"Origin": origin}
    called, there = urlsplit(host or base).netloc, urlsplit(base)
    return connect(
        f"ws://{called}/jupyter/api/kernels/{uuid.uuid4()}/channels?session_id=page",
        sock=socket.create_connection((there.hostname, there.port), timeout=HUNG),
        additional_headers=admitted(base) | said,
        max_size=None,
    )


def answer(base: str, origin: str | None, host: str | None = None) -> int:
    """The status with which a socket is let in (101) or refused."""
    try:
        with opened(base, origin, host):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def read(page: ClientConnection, path: str, until: str, seconds: float = HUNG) -> str:
    """All that a page says, until it says ``until`` or nothing for that long.

    Args:
        page: from ``opened``.
        path: of the page.
        until: ends the reading.
        seconds: how long to wait for the next word.
    """
    page.send(_message("comm_open", target_name="solara.control", data={}))
    run = {"method": "run", "args": {"path": path, "dark": False}}
    page.send(_message("comm_msg", data=run))
    said = ""
    while until not in said:
        try:
            heard = page.recv(timeout=seconds)
        except TimeoutError:
            break
        said += heard if isinstance(heard, str) else heard.decode(errors="replace")
    return said


def _message(kind: str, **content: Any) -> str:
    header = {
        "msg_id": uuid.uuid4().hex, "msg_type": kind, "session": "page",
        "username": "", "version": "5.2", "date": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    message = {
        "header": header, "parent_header": {}, "metadata": {}, "buffers": [],
        "content": {"comm_id": "control", **content}, "channel": "shell",
    }  # fmt: skip
    return json.dumps(message)
