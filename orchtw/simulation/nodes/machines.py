"""Simulated machines: the facts that a node agent would find on them (reference SIM-10)."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Final
from zlib import crc32

import msgspec

from orchtw.config.simulation import MOST_NODES
from orchtw.naming.naming import Naming
from orchtw.simulation.nodes.marks import MANAGED, REGISTERED
from orchtw.wire.objects import Object

PREFIX: Final = "node-"
REGION: Final = "simulated"
ZONES: Final = ("simulated-a", "simulated-b", "simulated-c")
CAPACITY: Final[Mapping[str, str]] = {
    "cpu": "32",
    "ephemeral-storage": "100Gi",
    "hugepages-1Gi": "0",
    "hugepages-2Mi": "0",
    "memory": "128Gi",
    "pods": "110",
}

_ADDRESSES: Final = int(IPv4Address("10.128.0.0"))
"""First address of nodes: 10.128.0.0/10 holds four million."""
_POD_RANGES: Final = int(IPv4Address("10.1.0.0"))
_FIRST_POD_RANGES: Final = 127 << 8
"""Number of /24 ranges from 10.1.0.0 up to the nodes' addresses."""
_MORE_POD_RANGES: Final = int(IPv4Address("240.0.0.0"))
"""First of the ranges of further nodes, in space that no network uses."""
_OTHERS: Final = 1 << 20
"""Number of places, after those of our own nodes, that nodes of other names are spread over."""


class Machine(msgspec.Struct, frozen=True):
    """One machine; `number` decides about its addresses and its zone."""

    name: str
    number: int

    @classmethod
    def of(cls, name: str) -> Machine:
        """Return the machine of a node's name; one that is not ours gets a number that follows from its name."""
        number = own_number(name)
        return cls(name, MOST_NODES + crc32(name.encode()) % (_OTHERS - MOST_NODES) if number is None else number)

    @property
    def address(self) -> str:
        """Address of the node."""
        return str(IPv4Address(_ADDRESSES + self.number + 1))

    @property
    def pod_range(self) -> str:
        """Range of its pods' addresses."""
        beyond = self.number - _FIRST_POD_RANGES
        first = _POD_RANGES + (self.number << 8) if beyond < 0 else _MORE_POD_RANGES + (beyond << 8)
        return f"{IPv4Address(first)}/24"

    @property
    def zone(self) -> str:
        """Zone of the machine."""
        return ZONES[self.number % len(ZONES)]

    def labels(self, naming: Naming) -> dict[str, str]:
        """Return the labels that a node agent and a cloud give to the node."""
        neutral = {
            "beta.orch.io/arch": "amd64",
            "beta.orch.io/os": "linux",
            "orch.io/arch": "amd64",
            "orch.io/hostname": self.name,
            "orch.io/os": "linux",
            "node.orch.io/instance-type": "simulated",
            "topology.orch.io/region": REGION,
            "topology.orch.io/zone": self.zone,
        }
        return {naming.translate(name): value for name, value in neutral.items()}

    def facts(self, naming: Naming) -> Object:
        """Return the node's `nodeInfo`."""
        version = naming.git_version
        return {
            "machineID": f"{self.number:032x}",
            "systemUUID": f"00000000-0000-4000-8000-{self.number:012x}",
            "bootID": f"00000000-0000-4000-9000-{self.number:012x}",
            "kernelVersion": "5.15.0",
            "osImage": "Simulated Linux",
            "containerRuntimeVersion": "simulated://1.0.0",
            naming.translate("orchletVersion"): version,
            naming.translate("orchProxyVersion"): version,
            "operatingSystem": "linux",
            "architecture": "amd64",
        }

    def node(self, naming: Naming) -> Object:
        """Return the Node to register, without a status."""
        return {
            "metadata": {
                "name": self.name,
                "labels": self.labels(naming),
                "annotations": {MANAGED: "true", REGISTERED: "true"},
            },
            "spec": {
                "podCIDR": self.pod_range,
                "podCIDRs": [self.pod_range],
                "providerID": f"simulated://{self.name}",
            },
        }


def own_number(name: str) -> int | None:
    """Return the number in the name of a node that the simulation registers, or None for other names."""
    digits = name.removeprefix(PREFIX)
    if digits == name or not digits.isascii() or not digits.isdigit() or len(digits) > 6:
        return None
    return int(digits) if str(int(digits)) == digits else None
