"""List and watch of one resource, over and over."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from kubernetes.client import ApiException
from urllib3.exceptions import HTTPError

Object = dict[str, Any]

RETRY_S = 0.05


class Informer:
    """Thread that tells of every object of a resource, at first and after each change.

    `read` is a list method of the client, which may be asked to watch instead. A watch that ends goes on from its
    last event. After a 410 the list is read again, which says nothing of objects that went away in between: an
    operator must not rely on the deletions that it sees.
    """

    def __init__(self, read: Callable[..., Any], tell: Callable[[Object], None]) -> None:
        self._read = read
        self._tell = tell
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="informer", daemon=True)

    def start(self) -> None:
        """Start the thread that lists and watches."""
        self._thread.start()

    def stop(self) -> None:
        """Tell of nothing any more."""
        self._stopping.set()

    def _run(self) -> None:
        version = ""
        while not self._stopping.is_set():
            try:
                version = self._watched(version or self._listed())
            except (ApiException, HTTPError, OSError, ValueError) as error:
                if isinstance(error, ApiException) and error.status == 410:
                    version = ""
                self._stopping.wait(RETRY_S)

    def _listed(self) -> str:
        """Tell of all objects; return the version of the list."""
        found = json.loads(self._read(_preload_content=False).data)
        for obj in found["items"]:
            self._told(obj)
        return str(found["metadata"]["resourceVersion"])

    def _watched(self, version: str) -> str:
        """Tell of changes until the watch ends; return the version of the last event, "" if it has expired."""
        asked = {"watch": True, "resource_version": version, "allow_watch_bookmarks": True}
        stream = self._read(**asked, _preload_content=False)
        try:
            for line in stream:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return ""
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self._told(event["object"])
                if self._stopping.is_set():
                    break
        finally:
            stream.close()
        return version

    def _told(self, obj: Object) -> None:
        if not self._stopping.is_set():
            self._tell(obj)
