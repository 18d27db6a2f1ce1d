"""Where a connection goes."""

from __future__ import annotations

from typing import Final, Literal

import attrs

from orchtw.config import host_and_port
from orchtw.outbound.tls import ClientTLS

_PORTS: Final = {"http": 80, "https": 443}


@attrs.frozen(slots=True, kw_only=True)
class Destination:
    """A host (name or IP address) and port, and how it is spoken to; `tls` says how for `https`.

    `server_name` is what its certificate must be for; empty: the host. With `public` only addresses that pods and
    nodes can have are dialled (see `addresses`).
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    tls: ClientTLS
    timeout_s: float
    public: bool = False
    server_name: str = ""

    @property
    def verified_name(self) -> str:
        """Name or address that TLS asks for and the certificate must be for."""
        return self.server_name or self.host

    @property
    def authority(self) -> str:
        """Host and port as a URL has them."""
        return host_and_port(self.host, self.port)

    @property
    def shown_authority(self) -> str:
        """The same without the scheme's own port."""
        if self.port != _PORTS[self.scheme]:
            return self.authority
        return f"[{self.host}]" if ":" in self.host else self.host


def default_port(scheme: str) -> int:
    """The port of a scheme."""
    return _PORTS[scheme]
