"""Validation of `status.loadBalancer` of Services and Ingresses (reference KIND-34)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.values.addresses import NOT_AN_IP, parse_ip
from orchtw.values.causes import forbidden, invalid, not_supported
from orchtw.values.names import dns_subdomain

Point = Mapping[str, Any]
_MODES = ("Proxy", "VIP")


def load_balancer_causes(balancer: Point, at: str) -> list[Cause]:
    """Return the causes that reject ingress points: bad IP addresses, bad host names, IP addresses as host names."""
    return list(islice(_points_causes(balancer.get("ingress") or (), at), MAX_CAUSES + 1))


def _points_causes(points: Sequence[Point], at: str) -> Iterator[Cause]:
    for index, point in enumerate(points):
        address, host = point.get("ip"), point.get("hostname")
        if address and parse_ip(address) is None:
            yield invalid(f"{at}.ingress[{index}].ip", address, "must be a valid IP address")
        mode = point.get("ipMode")
        if mode is not None and not address:
            yield forbidden(f"{at}.ingress[{index}].ipMode", "may not be specified when `ip` is not set")
        elif mode is not None and mode not in _MODES:
            yield not_supported(f"{at}.ingress[{index}].ipMode", mode, _MODES)
        if host:
            field = f"{at}.ingress[{index}].hostname"
            yield from (invalid(field, host, text) for text in dns_subdomain(host))
            if parse_ip(host) is not None:
                yield invalid(field, host, NOT_AN_IP)
