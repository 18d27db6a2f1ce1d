"""Limits of HTTP/2 beside those of all requests (reference LIMIT-20 to LIMIT-23)."""

from __future__ import annotations

from typing import Final

STREAMS: Final = 250
"""Concurrent requests over one connection, unless a flag says otherwise; the reference server's default."""

FRAME_BYTES: Final = 16_384
"""Largest content of a frame, both ways: the default of the protocol."""

FIELDS_BYTES: Final = 128 << 10
"""Bytes of a request's fields, packed and unpacked. Unpacking takes 140 ns a byte, so less than HTTP/1.1's 1 MiB."""

FIELDS_FRAMES: Final = 64
"""Frames that carry the fields of one request; eight are enough for the largest."""

STREAM_WINDOW: Final = 256 << 10
CONNECTION_WINDOW: Final = 1 << 20
DEFAULT_WINDOW: Final = 65_535
MOST_WINDOW: Final = (1 << 31) - 1

REQUESTS_A_TURN: Final = 64
"""Requests of one connection that begin before other connections get their turn: some 5 ms of gets."""

FLUSH_BYTES: Final = 64 << 10
"""Bytes of frames gathered for one write, unless the reactor's turn ends first: one TLS record carries many."""

TURN_BYTES: Final = 1 << 20
"""Bytes that one connection's long responses add in one turn of the reactor."""

REQUEST_BYTES: Final = 2048
"""Approximate bytes of a request beside its fields and its body."""

NOISE: Final = 2000
NOISE_A_SECOND: Final = 100
"""Frames that cost work and carry nothing: so many at once, and so many a second. Go's clients send a ping in 30 s,
and a reset for each watch that they end: 250 when an operator stops all of its informers.
"""

NOISE_OF_SETTINGS: Final = 10
"""Weight of a settings frame in such frames: it may change the windows of all streams."""

SMALL_GRANT: Final = 512
"""Bytes below which a window update counts as noise; clients open windows by 4 KiB and more."""
