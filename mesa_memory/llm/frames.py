"""What a worker and its keeper say to each other over a socket, see ``keeper``.

Two sizes in bytes, then a JSON object, then what goes with it as it is.
"""

import asyncio
import json
import struct
from typing import Any

_SIZES = struct.Struct("!II")

type Said = tuple[dict[str, Any], bytes]


def framed(head: dict[str, Any], body: bytes = b"") -> bytes:
    """What is sent."""
    told = json.dumps(head).encode()
    return _SIZES.pack(len(told), len(body)) + told + body


async def heard(reader: asyncio.StreamReader) -> Said:
    """The next that was sent.

    Raises:
        EOFError, OSError: if the other one is gone.
    """
    sizes = _SIZES.unpack(await reader.readexactly(_SIZES.size))
    told, body = [await reader.readexactly(size) for size in sizes]
    return json.loads(told), body
