"""File of `--service-map-file`, in which a test says where Services lead; the server looks at each call."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

FILE_BYTES: Final = 256 << 10
"""Limit of the file, as the server has it."""


class ServiceMapFile:
    """Mappings of one server, as lines of the file by Service and port."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._addresses: dict[str, str] = {}
        self._kept: dict[str, str] = {}

    def add(self, service: str, address: str) -> None:
        """Map a port of a Service, `namespace/name:port`, to a `host:port`.

        Raises ValueError for a mapping that the server would refuse; the mappings so far stay in force.
        """
        key, line = _parsed(service, address)
        with self._lock:
            fresh = {**self._addresses, key: line}
            if len(_content(fresh).encode()) > FILE_BYTES:
                raise ValueError(f"{service!r}: the service map would be larger than {FILE_BYTES} bytes")
            self._addresses = fresh
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
        fresh.write_text(_content(self._addresses))
        os.replace(fresh, self.path)


def _parsed(service: str, address: str) -> tuple[str, str]:
    """Return the Service and the line of a mapping, read as by the server, which refuses a file for one bad line.

    Raises ValueError.
    """
    from orchtw.config.service_map import parse_mapping  # a tenth of a second that few test processes need

    for text in (service, address):
        if "=" in text or len(text.split()) != 1:
            raise ValueError(f"{text!r}: must be NAMESPACE/NAME:PORT for the Service and HOST:PORT for the address")
    try:
        mapping = parse_mapping(f"{service}={address}")
    except ValueError as error:
        raise ValueError(f"{service!r} to {address!r}: {error}") from None
    return mapping.service, str(mapping)


def _content(lines: Mapping[str, str]) -> str:
    return "".join(f"{line}\n" for line in lines.values())
