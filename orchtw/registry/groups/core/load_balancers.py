"""Where load balancers take requests, as the status of a Service says."""

from __future__ import annotations

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.objects import Object
from orchtw.rules.addresses import parse_ip
from orchtw.rules.causes import invalid
from orchtw.rules.names import dns_subdomain


def load_balancer_causes(balancer: Object, at: str) -> list[Cause]:
    """Addresses are addresses, and host names are none."""
    causes: list[Cause] = []
    for index, point in enumerate((balancer.get("ingress") or [])[: MAX_CAUSES + 1]):
        address, host = point.get("ip"), point.get("hostname")
        if address and parse_ip(address) is None:
            causes.append(invalid(f"{at}.ingress[{index}].ip", address, "must be a valid IP address"))
        if host:
            field = f"{at}.ingress[{index}].hostname"
            causes += [invalid(field, host, text) for text in dns_subdomain(host)]
            if parse_ip(host) is not None:
                causes.append(invalid(field, host, "must be a DNS name, not an IP address"))
    return causes
