"""Requests as the stages see them, and what is shown of them."""

from __future__ import annotations

from orchtw.metrics.registry import Registry
from orchtw.metrics.series import Histogram, Number, ShownFamily
from orchtw.request import Peer, Request
from orchtw.rules.request_info import parse

SERVED = {("", "v1", "configmaps"): (), ("", "v1", "pods"): ("exec", "log", "status")}


def served(group: str, version: str, resource: str, subresource: str) -> tuple[str, str, str, str] | None:
    """A server with a few resources."""
    subresources = SERVED.get((group, version, resource))
    if subresources is None:
        return None
    return group, version, resource, subresource if not subresource or subresource in subresources else "other"


def asked(method: str, url: str, **headers: str) -> Request:
    """Return a request whose target is known."""
    path, _, query = url.partition("?")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = Request(method=method, path=path, query=query, headers=named, peer=Peer(address="", port=0))
    request.info = parse(method, path, request.params)
    return request


def shown(registry: Registry, name: str) -> dict[tuple[str, ...], float]:
    """Each series of a family: its value, or how many were observed."""
    found: dict[tuple[str, ...], float] = {}
    for family in registry.families():
        if isinstance(family, ShownFamily) and family.name == name:
            for values, series in family.series():
                if isinstance(series, Histogram):
                    found[values] = series.count
                elif isinstance(series, Number):
                    found[values] = series.value
    return {values: number for values, number in found.items() if number}
