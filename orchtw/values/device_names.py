"""Names of pools of devices, of attributes of devices, and of what stands for them elsewhere (reference KIND-94)."""

from __future__ import annotations

import re
from typing import Final

from orchtw.values.names import c_identifier, dns_subdomain, max_length_text, qualified_name

LONGEST_DOMAIN: Final = 63
"""Limit of the domain in the name of an attribute, in bytes."""
LONGEST_IDENTIFIER: Final = 32
"""Limit of the name of an attribute without its domain, in bytes."""

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def pool_name(value: str) -> tuple[str, ...]:
    """Return why `value` is not subdomains with slashes between them."""
    return tuple(dict.fromkeys(text for part in value.split("/") for text in dns_subdomain(part)))


def uuid(value: str) -> tuple[str, ...]:
    """Return why `value` is not a UUID in lower case."""
    return () if _UUID.fullmatch(value) else ("must be a lowercase UUID in 8-4-4-4-12 format",)


def device_attribute(value: str) -> tuple[str, ...]:
    """Return why `value` is not the name of an attribute with its domain."""
    return own_attribute(value) if "/" in value else ("must include a domain",)


def own_attribute(value: str) -> tuple[str, ...]:
    """Return why `value` is not the name of an attribute; one without a domain is its driver's own."""
    domain, slash, name = value.partition("/")
    if not slash:
        return _identifier(value)
    if not domain:
        return ("the domain must not be empty",)
    long = (max_length_text(LONGEST_DOMAIN),) if len(domain) > LONGEST_DOMAIN else ()
    return (*long, *dns_subdomain(domain), *_identifier(name))


def _identifier(name: str) -> tuple[str, ...]:
    if not name:
        return ("the name must not be empty",)
    long = (max_length_text(LONGEST_IDENTIFIER),) if len(name) > LONGEST_IDENTIFIER else ()
    return (*long, *c_identifier(name))


def extended_resource(value: str) -> tuple[str, ...]:
    """Return why `value` is not a resource with a domain."""
    return qualified_name(value) if "/" in value else ("must have a domain prefix",)
