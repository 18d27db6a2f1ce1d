"""DNS settings of a pod (reference KIND-36)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.values import names, utf8
from orchtw.values.addresses import parse_ip
from orchtw.values.causes import invalid, not_supported, required
from orchtw.wire.objects import Object

_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_SERVERS: Final = 3
_MAX_SEARCHES: Final = 6
_MAX_SEARCH_CHARACTERS: Final = 256
_NO_ADDRESS: Final = "must be valid IP address"


def dns_causes(policy: str, config: Object | None) -> list[Cause]:
    """Return the causes that reject a pod's `dnsPolicy` and `dnsConfig`."""
    if policy not in _POLICIES:
        causes = [not_supported("dnsPolicy", policy, _POLICIES) if policy else required("dnsPolicy")]
    else:
        causes = []
    if policy == "None" and config is None:
        causes.append(required("dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None"))
    elif policy == "None" and config is not None and not config.get("nameservers"):
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        causes.append(required("dnsConfig.nameservers", text))
    elif config is not None:
        causes += _servers(config.get("nameservers") or ()) + _searches(config.get("searches") or ())
        causes += _options(config.get("options") or ())
    return causes


def _servers(servers: Sequence[str]) -> list[Cause]:
    place = "dnsConfig.nameservers"
    causes = []
    if len(servers) > _MAX_SERVERS:
        causes.append(invalid(place, servers, f"must not have more than {_MAX_SERVERS} nameservers"))
    for index, server in enumerate(servers):
        if len(causes) > MAX_CAUSES:
            break
        if parse_ip(server) is None:
            causes.append(invalid(f"{place}[{index}]", server, _NO_ADDRESS))
    return causes


def _searches(searches: Sequence[str]) -> list[Cause]:
    place = "dnsConfig.searches"
    causes = []
    if len(searches) > _MAX_SEARCHES:
        causes.append(invalid(place, searches, f"must not have more than {_MAX_SEARCHES} search paths"))
    if utf8.size(" ".join(searches)) > _MAX_SEARCH_CHARACTERS:
        text = f"must not have more than {_MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        causes.append(invalid(place, searches, text))
    for index, search in enumerate(searches):
        if len(causes) > MAX_CAUSES:
            break
        name = search.removesuffix(".")
        causes += [invalid(f"{place}[{index}]", name, text) for text in names.dns_subdomain(name)]
    return causes


def _options(options: Sequence[Object]) -> list[Cause]:
    unnamed = (index for index, option in enumerate(options) if not option.get("name"))
    return [
        required(f"dnsConfig.options[{index}]", "must not be empty")
        for index, _ in zip(unnamed, range(MAX_CAUSES + 1), strict=False)
    ]


def alias_causes(aliases: Sequence[Object]) -> list[Cause]:
    """Return the causes that reject `hostAliases`; the places do not say in which of them."""
    causes: list[Cause] = []
    for alias in aliases:
        if len(causes) > MAX_CAUSES:
            break
        if parse_ip(address := alias.get("ip", "")) is None:
            causes.append(invalid("hostAliases.ip", address, _NO_ADDRESS))
        for name in alias.get("hostnames") or ():
            if len(causes) > MAX_CAUSES:
                break
            causes += [invalid("hostAliases.hostnames", name, text) for text in names.dns_subdomain(name)]
    return causes
