"""Destination of a connection: scheme, host, port and TLS."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from orchtw.config import host_and_port
from orchtw.outbound.tls import ClientTLS

_PORTS: Final = {"http": 80, "https": 443}


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """A host (name or IP address) and port, with its scheme; `tls` has the settings for `https`.

    `server_name` is the name that its certificate must be for; empty: the host. With `public` only addresses that
    pods and nodes can have are dialled (see `addresses`). `prefix` is the escaped path under which the destination
    is found there.
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    tls: ClientTLS
    timeout_s: float
    public: bool = False
    server_name: str = ""
    prefix: str = ""

    @property
    def verified_name(self) -> str:
        """Name or address for TLS, which the certificate must be for."""
        return self.server_name or self.host

    @property
    def authority(self) -> str:
        """Host and port, as in a URL."""
        return host_and_port(self.host, self.port)

    @property
    def shown_authority(self) -> str:
        """Host and port without the scheme's default port."""
        return shown_authority(self.scheme, self.host, self.port)


def default_port(scheme: str) -> int:
    """Return the default port of a scheme."""
    return _PORTS[scheme]


def shown_authority(scheme: str, host: str, port: int) -> str:
    """Return host and port for a Host header: without the scheme's default port."""
    if port != _PORTS.get(scheme):
        return host_and_port(host, port)
    return f"[{host}]" if ":" in host else host
