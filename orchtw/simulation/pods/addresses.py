"""Addresses of simulated pods, out of the ranges of their nodes."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from typing import Final

from orchtw.wire.objects import Object

SPARE: Final = "100.64.0.0/10"
"""Range of pods whose node has no range of its own, or a full one (RFC 6598)."""


class Range:
    """Addresses of one range; each is given to one pod at a time."""

    def __init__(self, network: str) -> None:
        parsed = ip_network(network, strict=False)
        self._first = int(parsed.network_address) + 1
        self._size = max(parsed.num_addresses - 2, 1)
        self._next = 0
        self._make = type(parsed.network_address)
        self._owners: dict[int, str] = {}

    def give(self, owner: str) -> str | None:
        """Return a free address, or None; the one that was free longest is given last."""
        if len(self._owners) >= self._size:
            return None
        while self._first + self._next in self._owners:
            self._next = (self._next + 1) % self._size
        number = self._first + self._next
        self._next = (self._next + 1) % self._size
        self._owners[number] = owner
        return str(self._make(number))

    def note(self, address: str, owner: str) -> bool:
        """Note an address that a pod has; report whether it is in this range."""
        number = _number(address)
        if not 0 <= number - self._first < self._size:
            return False
        self._owners.setdefault(number, owner)
        return True

    def free(self, address: str, owner: str) -> None:
        """Take back an address of a pod, unless another one has it."""
        number = _number(address)
        if self._owners.get(number) == owner:
            del self._owners[number]


class PodAddresses:
    """Addresses of all pods by node. A pod is named by its key, `namespace/name`."""

    def __init__(self) -> None:
        self._ranges: dict[str, Range] = {}
        self._given: dict[str, tuple[Range, str]] = {}
        self._spare = Range(SPARE)

    def of(self, key: str, node: Object | None, others: Iterable[tuple[str, str]]) -> str:
        """Return the address of a pod on a node; `others` are the pods there that have one, by key and address."""
        if (given := self._given.get(key)) is not None:
            return given[1]
        chosen = self._spare if node is None else self._range(node, others)
        address = chosen.give(key)
        if address is None:
            chosen = self._spare
            address = chosen.give(key) or ""
        self._given[key] = chosen, address
        return address

    def keep(self, key: str, address: str) -> None:
        """Note the address of a pod that has one, if it is outside the ranges of nodes."""
        if key not in self._given and self._spare.note(address, key):
            self._given[key] = self._spare, address

    def free(self, key: str) -> None:
        """Take back the address of a pod that is gone."""
        if (given := self._given.pop(key, None)) is not None:
            given[0].free(given[1], key)

    def forget_node(self, name: str) -> None:
        """Forget the range of a node that is gone: another node of that name may have another one."""
        self._ranges.pop(name, None)

    def _range(self, node: Object, others: Iterable[tuple[str, str]]) -> Range:
        name, network = node["metadata"]["name"], node["spec"].get("podCIDR")
        if not network:
            return self._spare
        found = self._ranges.get(name)
        if found is None:
            found = self._ranges[name] = Range(network)
            for key, address in others:
                found.note(address, key)
                self._given[key] = found, address
        return found


def host_address(node: Object | None) -> str:
    """Return the address of a node, empty without one."""
    addresses = ((node or {}).get("status") or {}).get("addresses") or ()
    return next((str(each["address"]) for each in addresses if each.get("type") == "InternalIP"), "")


def _number(address: str) -> int:
    try:
        return int(ip_address(address))
    except ValueError:
        return -1
