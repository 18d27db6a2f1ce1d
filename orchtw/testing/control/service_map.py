"""File of `--service-map-file`, in which a test says where Services lead; the server looks at each call."""

from __future__ import annotations

import os
import threading
from pathlib import Path


class ServiceMapFile:
    """Mappings of one server."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._addresses: dict[str, str] = {}
        self._kept: dict[str, str] = {}

    def add(self, service: str, address: str) -> None:
        """Map a port of a Service, `namespace/name:port`, to a `host:port`. Raises ValueError for another form."""
        path, colon, port = service.partition(":")
        if not colon or not port.isdigit() or path.count("/") != 1:
            raise ValueError(f"{service!r}: must be NAMESPACE/NAME:PORT")
        if not address.rpartition(":")[2].isdigit() or "\n" in service + address:
            raise ValueError(f"{address!r}: must be HOST:PORT")
        with self._lock:
            self._addresses[service] = address
            self._write()

    def keep(self) -> None:
        """Make the present mappings those of `go_back`."""
        self._kept = dict(self._addresses)

    def go_back(self) -> None:
        """Bring back the kept mappings, by default none."""
        with self._lock:
            if self._addresses != self._kept:
                self._addresses = dict(self._kept)
                self._write()

    def create(self) -> None:
        """Write the file for the start."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        """Put a new file in place of the old one, so that the server never reads half of it."""
        fresh = self.path.with_name(f"{self.path.name}.new")
        fresh.write_text("".join(f"{service}={address}\n" for service, address in self._addresses.items()))
        os.replace(fresh, self.path)
