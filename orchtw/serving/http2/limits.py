"""Limits of HTTP/2 beside those of all requests (reference LIMIT-20 to LIMIT-23)."""

from __future__ import annotations

from typing import Final

FRAME_BYTES: Final = 16_384
"""The most content of a frame, both ways: what everybody may send without being asked."""

FIELDS_BYTES: Final = 128 << 10
"""A request's fields, packed and unpacked. Unpacking takes 140 ns a byte, so less than HTTP/1.1's 1 MiB."""

FIELDS_FRAMES: Final = 64
"""Frames that the fields of one request may come in; eight are enough for the most that they may take."""

STREAM_WINDOW: Final = 256 << 10
CONNECTION_WINDOW: Final = 1 << 20
DEFAULT_WINDOW: Final = 65_535
MOST_WINDOW: Final = (1 << 31) - 1

REQUESTS_A_TURN: Final = 64
"""Requests of one connection that are begun before other connections get their turn: some 5 ms of gets."""

FLUSH_BYTES: Final = 64 << 10
"""Frames are gathered up to this, or to the end of the reactor's turn: one TLS record carries many."""

TURN_BYTES: Final = 1 << 20
"""What one connection's long answers add in one turn of the reactor."""

REQUEST_BYTES: Final = 2048
"""About what a request takes beside its fields and its body."""

NOISE: Final = 2000
NOISE_A_SECOND: Final = 100
"""Frames that ask for work and bring nothing: so many at once, and so many a second. Go's clients send a ping in
30 s, and a reset for each watch that they end: 250 when an operator stops all of its informers."""

NOISE_OF_SETTINGS: Final = 10
"""Settings are heard as so many frames: each may change the windows of all streams."""

SMALL_GRANT: Final = 512
"""A window that is opened by less than this counts as noise; clients open theirs by 4 KiB and more."""
