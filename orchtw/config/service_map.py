"""Addresses that the administrator gives for Services: the values of `--service-map` and the lines of its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from orchtw.config.hosts import host_and_port, split_host
from orchtw.errors import ConfigError
from orchtw.flags.flag import FlagKind, split_list
from orchtw.values.names import dns_label
from orchtw.values.ports import HIGHEST

FILE_BYTES: Final = 256 << 10
"""Limit of the file: some thousand lines, which are read in a few milliseconds."""

_FORM: Final = "must be namespace/name:port=host:port"


class ServiceMapping(msgspec.Struct, frozen=True):
    """A port of a Service, and the host and port that are dialled for it."""

    namespace: str
    name: str
    port: int
    to_host: str
    to_port: int

    @property
    def service(self) -> str:
        """The Service and its port, as they are written."""
        return f"{self.namespace}/{self.name}:{self.port}"

    def __str__(self) -> str:
        return f"{self.service}={host_and_port(self.to_host, self.to_port)}"


def parse_mapping(text: str) -> ServiceMapping:
    """Parse `namespace/name:port=host:port`; IPv6 addresses stand in brackets. Raises ValueError."""
    service, equals, place = text.partition("=")
    path, colon, port = service.strip().rpartition(":")
    namespace, slash, name = path.partition("/")
    if not (equals and colon and slash and port.isascii() and port.isdigit() and len(port) < 6):
        raise ValueError(_FORM)
    for each in (namespace, name):
        if wrong := dns_label(each):
            raise ValueError(f'"{each}": {wrong[0]}')
    if not 0 < int(port) <= HIGHEST:
        raise ValueError(f"{port} is not a port")
    host, to_port = split_host(place.strip())
    if to_port is None:
        raise ValueError(f"{_FORM}, and {place.strip()} has no port")
    return ServiceMapping(namespace, name, int(port), host, to_port)


def read_mappings(path: Path) -> tuple[ServiceMapping, ...]:
    """Read a file with one mapping a line; empty lines and lines that begin with `#` do not count.

    Raises ConfigError with one line.
    """
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES + 1)
        lines = content.decode("utf-8").splitlines()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8") from None
    if len(content) > FILE_BYTES:
        raise ConfigError(f"{path}: is larger than {FILE_BYTES} bytes")
    found: dict[str, ServiceMapping] = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if line and not line.startswith("#"):
            try:
                _add(found, line)
            except ValueError as error:
                raise ConfigError(f'{path}: line {number}: "{line[:200]}": {error}') from None
    return tuple(found.values())


def _mappings(texts: Sequence[str]) -> tuple[ServiceMapping, ...]:
    found: dict[str, ServiceMapping] = {}
    for text in split_list(texts):
        _add(found, text)
    return tuple(found.values())


def _add(found: dict[str, ServiceMapping], text: str) -> None:
    """Add a mapping. Raises ValueError for a malformed one, and for the second one of a Service's port."""
    mapping = parse_mapping(text)
    if mapping.service in found:
        raise ValueError(f"{mapping.service} is mapped twice")
    found[mapping.service] = mapping


SERVICE_MAPPINGS: Final = FlagKind("serviceMapping", _mappings, lambda found: ",".join(map(str, found)))
