"""Messages between the driver and a zygote: a length and that many bytes of JSON. The driver's side uses it as well."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

MOST_BYTES = 64 << 20


def send(connection: socket.socket, message: dict[str, Any]) -> None:
    """Sends one message."""
    body = json.dumps(message).encode()
    connection.sendall(struct.pack("!I", len(body)) + body)


def receive(connection: socket.socket) -> dict[str, Any]:
    """The next message; an EOFError when the other side is gone."""
    (size,) = struct.unpack("!I", _exactly(connection, 4))
    if size > MOST_BYTES:
        raise EOFError(f"a message of {size} bytes is none of ours")
    message = json.loads(_exactly(connection, size))
    assert isinstance(message, dict)
    return message


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            raise EOFError("the other side is gone")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
