"""Handover to a worker at its start: the first message on the stream from its owner."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import socket
from struct import Struct
from typing import Final

import msgspec

from orchtw.config import Config
from orchtw.logs.verbosity import Verbosity

_LENGTH: Final = Struct("<I")
_PR_SET_PDEATHSIG: Final = 1


class Handover(msgspec.Struct, frozen=True, kw_only=True):
    """Handover to one worker: `config` is that of the worker; `owner` is the process that it must not outlive."""

    config: Config
    verbosity: Verbosity
    owner: int

    def send(self, stream: socket.socket) -> None:
        """Send on a stream that is still empty: the message fits into its buffer."""
        made = pickle.dumps(self)
        stream.sendall(_LENGTH.pack(len(made)) + made)


def receive(stream: socket.socket) -> Handover:
    """Receive what `send` has sent. The other end of the socket pair is the owner's alone."""
    length = _LENGTH.unpack(_exactly(stream, _LENGTH.size))[0]
    found = pickle.loads(_exactly(stream, length))  # noqa: S301 - from the process that has started this one
    assert isinstance(found, Handover)
    return found


def end_with(owner: int) -> None:
    """Have the system end this process at once when `owner` ends: its store may be another's then."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) or os.getppid() != owner:
        os._exit(1)


def _exactly(stream: socket.socket, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        part = stream.recv(length - len(found))
        if not part:
            os._exit(1)
        found += part
    return bytes(found)
