"""A stand-in for the API that replays a kind and its changes to the console at a given rate.

It separates what the page costs from what a server costs. The rows are like those of a Pod with two field managers,
as the API sends them for a Table, 1.5 KB each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from orchtw.console.pages import pages

COLUMNS: Final = ("Name", "Ready", "Status", "Restarts", "Age")
TICK_S: Final = 0.01
MARK_EVERY: Final = 50
"""Each of so many events is one of the first row, with the time of its sending in milliseconds as its status."""
_POD: Final = {"name": "pods", "namespaced": True, "kind": "Pod", "verbs": ["get", "list", "watch"]}
_FIELDS: Final[dict[str, Any]] = {f"f:field{number}": {".": {}, "f:name": {}, "f:value": {}} for number in range(16)}
_OWNERS: Final = [
    {"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": _FIELDS}
    for manager in ("kubelet", "controller")
]


def row(number: int, status: str, revision: int) -> dict[str, Any]:
    """Return a row of the table."""
    name = f"web-{number:06}"
    meta = {
        "name": name, "namespace": "default", "uid": f"uid-{number}", "resourceVersion": str(revision),
        "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"app": "web"}, "managedFields": _OWNERS,
    }  # fmt: skip
    return {"cells": [name, "1/1", status, "0", "5m"], "object": {"metadata": meta}}


class Feed:
    """The objects and the changes of a kind: seven in ten update a row, the others add and remove one in turn."""

    def __init__(self, objects: int, rate: int) -> None:
        self.objects, self.rate = objects, rate
        self.sent = 0

    def chunk(self, start: int, limit: int) -> dict[str, Any]:
        """Return a chunk of the list."""
        stop = min(self.objects, start + limit)
        rows = [row(number, "Running", 1) for number in range(start, stop)]
        more = {"continue": str(stop)} if stop < self.objects else {}
        columns = [{"name": name, "priority": 0} for name in COLUMNS]
        return {"metadata": {"resourceVersion": "1", **more}, "columnDefinitions": columns, "rows": rows}

    def events(self) -> Iterator[bytes]:
        """Yield the events that are due, every ten milliseconds."""
        began = time.monotonic()
        for number in range(10**9):
            while number >= (time.monotonic() - began) * self.rate:
                time.sleep(TICK_S)
            yield json.dumps(self._event(number)).encode() + b"\n"
            self.sent += 1

    def _event(self, number: int) -> dict[str, Any]:
        """Return the event of a number."""
        if number % MARK_EVERY == 0:
            kind, place, status = "MODIFIED", 0, str(int(time.time() * 1000))
        elif number % 10 < 7:
            kind, place = "MODIFIED", number * 7919 % (self.objects - 1) + 1
            status = ("Running", "Pending")[number % 2]
        else:
            # An object that is added is removed by an event 500 later.
            round_, kind = number // 1000, ("ADDED", "DELETED")[number % 1000 // 500]
            place, status = self.objects + round_ * 500 + number % 500, "Pending"
        return {"type": kind, "object": {"rows": [row(place, status, number + 2)]}}


class Replay(BaseHTTPRequestHandler):
    """Answers the console's requests: its files, discovery, the list and the watch."""

    protocol_version = "HTTP/1.1"
    files: Final = pages()

    def __init__(self, feed: Feed, *arguments: Any) -> None:
        self.feed = feed
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """Answer with a page of the console, a list in chunks, or the watch."""
        place = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(place.query).items()}
        if page := self.files.get(place.path):
            self._send(page.body, page.content_type)
        elif place.path == "/api/v1":
            self._json({"groupVersion": "v1", "resources": [_POD]})
        elif place.path == "/apis":
            self._json({"groups": []})
        elif "watch" in query:
            self._watch()
        else:
            self._json(self.feed.chunk(int(query.get("continue", "0")), int(query["limit"])))

    def log_message(self, format: str, *arguments: object) -> None:
        """Keep the log empty: a line for each request would be most of the output."""

    def _json(self, answer: object) -> None:
        self._send(json.dumps(answer).encode(), "application/json")

    def _send(self, body: bytes, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for event in self.feed.events():
                self.wfile.write(event)
        except OSError:
            self.close_connection = True


def serve(feed: Feed) -> ThreadingHTTPServer:
    """Return a server of a feed on a free port of the loopback; the caller runs and closes it."""
    return ThreadingHTTPServer(("127.0.0.1", 0), partial(Replay, feed))
