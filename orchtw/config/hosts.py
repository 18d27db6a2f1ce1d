"""Names and addresses by which clients reach the server: `--tls-san`, `--external-hostname` (reference FLAG-17)."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from orchtw.values.names import dns_subdomain
from orchtw.values.ports import HIGHEST

_LONGEST_LABEL: Final = 63
_PORT: Final = re.compile(r"\d{1,5}", re.ASCII)


def is_address(text: str) -> bool:
    """Report whether `text` is an IP address. One with a zone is not: it is only valid on one machine."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def is_dns_name(text: str) -> bool:
    """Report whether `text` is a valid DNS name. A numeric last label makes it a (malformed) IP address."""
    name = text.lower()
    labels = name.split(".")
    return not (dns_subdomain(name) or labels[-1].isdigit() or max(map(len, labels)) > _LONGEST_LABEL)


def split_host(text: str) -> tuple[str, int | None]:
    """Parse `host`, `host:port`, an IP address or `[address]:port` into host and port. Raises ValueError."""
    host, port = text, ""
    if not is_address(text):
        host, colon, port = text.rpartition(":") if ":" in text else (text, "", "")
        if colon and not (_PORT.fullmatch(port) and 0 < int(port) <= HIGHEST):
            raise ValueError(f"{port!r} is not a port")
    if host.startswith("[") and host.endswith("]") and is_address(host[1:-1]):
        host = host[1:-1]
    if not (is_address(host) or is_dns_name(host)):
        raise ValueError(f'"{text}" is neither a DNS name nor an IP address, with or without a port')
    return host, int(port) if port else None


def host_and_port(address: str, port: int) -> str:
    """Join address and port: `127.0.0.1:6443` or `[::1]:6443`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
