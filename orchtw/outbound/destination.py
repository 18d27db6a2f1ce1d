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

    With `public` only addresses that pods and nodes can have are dialled (see `addresses`). `tls_name` is the name
    that the other side's certificate must be for, where that is not the host.
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    tls: ClientTLS
    timeout_s: float
    public: bool = False
    tls_name: str = ""

    @property
    def certified_name(self) -> str:
        """The name that TLS asks for and verifies."""
        return self.tls_name or self.host

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
