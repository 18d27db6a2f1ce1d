"""Socket options of accepted connections."""

from __future__ import annotations

import socket

# Dead peers of idle watches are noticed after 30 + 3 * 10 seconds (reference DESIGN-11).
KEEPALIVE = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3))
# What the system queues of a connection beyond what is on its way; a peer that does not read costs no more there.
NOTSENT_BYTES = 128 * 1024


def tune(sock: socket.socket, stall_s: float) -> None:
    """Set our options; a peer that acknowledges nothing for `stall_s` seconds is dropped."""
    options = (
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *((socket.IPPROTO_TCP, option, value) for option, value in KEEPALIVE),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(stall_s * 1000)),
        (socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, NOTSENT_BYTES),
    )
    try:
        for level, option, value in options:
            sock.setsockopt(level, option, value)
    except OSError:
        # The peer is already gone; the first read will say so.
        pass
