"""Line discipline of a terminal: what is typed is shown, and passed on by lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

MOST_LINE: Final = 4_096
"""Longest line in bytes; what is typed after it is dropped."""
_ENTER, _INTERRUPT, _END = (b"\r"[0], b"\n"[0]), 3, 4
_ERASE: Final = (8, 127)


class Terminal:
    """A terminal. `show` gets what appears, `send` a line or, at the end of the input, nothing."""

    def __init__(
        self, show: Callable[[bytes], None], send: Callable[[bytes], None], interrupt: Callable[[], None]
    ) -> None:
        self._show = show
        self._send = send
        self._interrupt = interrupt
        self._line = bytearray()

    def feed(self, data: bytes) -> None:
        """Take in the bytes of pressed keys."""
        for key in data:
            self._key(key)

    def _key(self, key: int) -> None:
        if key in _ENTER:
            line, self._line = bytes(self._line), bytearray()
            self._show(b"\r\n")
            self._send(line + b"\n")
        elif key == _INTERRUPT:
            self._show(b"^C\r\n")
            self._interrupt()
        elif key == _END:
            if not self._line:
                self._send(b"")
        elif key in _ERASE:
            if self._line:
                self._line.pop()
                self._show(b"\b \b")
        elif key >= 32 and len(self._line) < MOST_LINE:
            self._line.append(key)
            self._show(bytes((key,)))
