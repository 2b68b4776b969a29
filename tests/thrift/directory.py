"""The smallest LDAP directory that can refuse a password: a TCP server that answers simple binds (RFC 4511, section 4.2)."""

from __future__ import annotations

import io
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

BIND_REQUEST, BIND_RESPONSE = 0x60, 0x61
SUCCESS, INVALID_CREDENTIALS = 0, 49


@contextmanager
def directory(passwords: Mapping[str, str]) -> Iterator[str]:
    """The URL of a directory with these passwords by distinguished name."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while message := _element(self.rfile):
                number, (tag, operation) = _children(message[1])[0][1], _children(message[1])[1]
                if tag != BIND_REQUEST:
                    return
                _, (_, name), (_, password) = _children(operation)
                known = passwords.get(name.decode()) == password.decode()
                code = SUCCESS if known else INVALID_CREDENTIALS
                answer = _encoded(0x0A, bytes([code])) + _encoded(0x04, b"") * 2
                self.wfile.write(_encoded(0x30, _encoded(0x02, number) + _encoded(BIND_RESPONSE, answer)))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"ldap://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


Element = tuple[int, bytes]


def _element(stream: object) -> Element | None:
    """The next tag and content; None at the end."""
    head = stream.read(2)  # type: ignore[attr-defined]
    if len(head) < 2:
        return None
    size = head[1]
    if size & 0x80:
        size = int.from_bytes(stream.read(size & 0x7F), "big")  # type: ignore[attr-defined]
    return head[0], stream.read(size)  # type: ignore[attr-defined]


def _children(content: bytes) -> list[Element]:
    stream, found = io.BytesIO(content), []
    while element := _element(stream):
        found.append(element)
    return found


def _encoded(tag: int, content: bytes) -> bytes:
    assert len(content) < 0x80
    return bytes([tag, len(content)]) + content
