"""Watch frames: one event as the bytes of one wire format (reference WATCH-5, WATCH-15).

A wire is a format together with a version of the kind. It is made once per served resource and format and is
compared by identity, so that all its watchers share its frames. Table and PartialObjectMetadata are wires too; they
live with the code that makes those forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import orjson

from orchtw.errors import StatusError
from orchtw.metrics.series import Histogram, doubling
from orchtw.schema.codec.envelope import ENVELOPE_END, envelope_head, wrap
from orchtw.schema.codec.wire import delimited, varint
from orchtw.watch.entry import Entry
from orchtw.watch.gate import Gate

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"
TYPES: Final = (ADDED, MODIFIED, DELETED, BOOKMARK, ERROR)

FRAME_BYTES: Final = doubling(1024, 8)
"""Bounds of the size buckets of events, in bytes."""

Encoding = Callable[[Entry], bytes]
SetVersion = Callable[[bytes, bytes], bytes]
BookmarkEncoding = Callable[[int, bool], bytes]
"""Makes a bookmark for a revision; True: of the end of the initial state."""


class Wire(Protocol):
    """Format of watch frames. `opens`: a stream's first event looks different (`opening`).

    `gate` is asked before frames are made; None: all can be made at once. `sent` measures the events sent to
    watchers, in bytes; those of one kind are measured together.
    """

    opens: bool
    gate: Gate | None
    sent: Histogram

    def frame(self, event_type: str, entry: Entry, revision: int) -> bytes:
        """Return one event with `entry`, whose resourceVersion on the wire is `revision`."""

    def pieces(self, event_type: str, entry: Entry) -> tuple[bytes, ...] | None:
        """Return the frame of an unchanged entry in pieces of its own bytes; None if it has to be encoded."""

    def opening(self, event_type: str, entry: Entry, revision: int) -> bytes:
        """Return the frame of a stream's first event, otherwise as `frame`."""

    def bookmark(self, revision: int, *, ends_state: bool = False) -> bytes:
        """Return a BOOKMARK event: all changes up to `revision` have been sent.

        `ends_state`: it is annotated, because all objects of the initial state have been (reference WATCH-20).
        """

    def error(self, error: StatusError) -> bytes:
        """Return an ERROR event with the error's Status."""


class JsonWire:
    """`{"type":…,"object":…}` and a newline.

    `type_prefix` is the object's start with kind and apiVersion, `tail` returns the rest of an entry's JSON,
    `set_version` replaces the resourceVersion in it, and `bookmark_tail` makes that of a bookmark.
    """

    opens = False

    def __init__(
        self,
        type_prefix: bytes,
        tail: Encoding,
        set_version: SetVersion,
        bookmark_tail: BookmarkEncoding,
        gate: Gate | None = None,
    ) -> None:
        self.gate = gate
        self.sent = Histogram(FRAME_BYTES)
        self._heads = {kind: b'{"type":"%b","object":%b' % (kind.encode(), type_prefix) for kind in TYPES}
        self._tail = tail
        self._set_version = set_version
        self._bookmark_tail = bookmark_tail

    def frame(self, event_type: str, entry: Entry, revision: int) -> bytes:
        """Return one event as a line of JSON."""
        tail = self._tail(entry)
        if entry.revision != revision:
            tail = self._set_version(tail, b"%d" % revision)
        return b"".join((self._heads[event_type], tail, b"}\n"))

    opening = frame

    def pieces(self, event_type: str, entry: Entry) -> tuple[bytes, ...]:
        """Return the line in pieces around the entry's JSON."""
        return self._heads[event_type], self._tail(entry), b"}\n"

    def bookmark(self, revision: int, *, ends_state: bool = False) -> bytes:
        """Return a bookmark as a line of JSON."""
        return b"".join((self._heads[BOOKMARK], self._bookmark_tail(revision, ends_state), b"}\n"))

    def error(self, error: StatusError) -> bytes:
        """Return an error as a line of JSON."""
        return b'{"type":"ERROR","object":%b}\n' % orjson.dumps(error.to_status())


class ProtobufWire:
    """Length-delimited WatchEvent messages whose object is an enveloped Protobuf message.

    `raw` returns an entry's inner message, `set_version` replaces the resourceVersion in one, `bookmark_raw` makes
    one for a revision and `status_raw` one for a Status.
    """

    opens = False
    gate: Gate | None = None

    def __init__(
        self,
        api_version: str,
        kind: str,
        raw: Encoding,
        set_version: SetVersion,
        bookmark_raw: BookmarkEncoding,
        status_raw: Callable[[StatusError], bytes],
    ) -> None:
        self.sent = Histogram(FRAME_BYTES)
        self._type = (api_version, kind)
        self._raw = raw
        self._set_version = set_version
        self._bookmark_raw = bookmark_raw
        self._status_raw = status_raw

    def frame(self, event_type: str, entry: Entry, revision: int) -> bytes:
        """Return one event as a length and a WatchEvent."""
        raw = self._raw(entry)
        if entry.revision != revision:
            raw = self._set_version(raw, b"%d" % revision)
        return protobuf_frame(event_type, wrap(*self._type, raw))

    opening = frame

    def pieces(self, event_type: str, entry: Entry) -> tuple[bytes, ...]:
        """Return the frame in pieces: head, inner message and end of the envelope."""
        raw = self._raw(entry)
        envelope = envelope_head(*self._type) + varint(len(raw))
        size = len(envelope) + len(raw) + len(ENVELOPE_END)
        extension = b"\x0a" + varint(size)
        head = delimited(1, event_type.encode()) + b"\x12" + varint(len(extension) + size) + extension
        return (len(head) + size).to_bytes(4, "big") + head + envelope, raw, ENVELOPE_END

    def bookmark(self, revision: int, *, ends_state: bool = False) -> bytes:
        """Return a bookmark as a length and a WatchEvent."""
        return protobuf_frame(BOOKMARK, wrap(*self._type, self._bookmark_raw(revision, ends_state)))

    def error(self, error: StatusError) -> bytes:
        """Return an error as a length and a WatchEvent."""
        return protobuf_frame(ERROR, wrap("v1", "Status", self._status_raw(error)))


def protobuf_frame(event_type: str, envelope: bytes) -> bytes:
    """Return the length in 4 bytes, and WatchEvent{1: type, 2: RawExtension{1: envelope}} (reference WATCH-15)."""
    event = delimited(1, event_type.encode()) + delimited(2, delimited(1, envelope))
    return len(event).to_bytes(4, "big") + event
