"""The numbers that services are given, as addresses and ports are shown."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Final, Protocol

import attrs

from orchtw.values.addresses import Network, parse_ip

FULL: Final = "range is full"

_ADDRESS: Final[Mapping[int, type[IPv4Address] | type[IPv6Address]]] = {4: IPv4Address, 6: IPv6Address}


class Range(Protocol):
    """Consecutive numbers, both ends included."""

    @property
    def name(self) -> str:
        """Where blocks of such numbers lie in the store, whatever their range."""

    @property
    def first(self) -> int:
        """The lowest that is given."""

    @property
    def last(self) -> int:
        """The highest that is given."""

    @property
    def picked_from(self) -> int:
        """Return the lowest number for dynamic allocation."""

    @property
    def title(self) -> str:
        """Return the name of such ranges."""

    def subject(self, number: int) -> str:
        """Return the name of its numbers."""

    def out_of_range(self, number: int) -> str:
        """Why a number beyond the range is refused."""

    def taken(self, number: int) -> str:
        """Why a number that somebody has is refused."""


@attrs.frozen(slots=True)
class AddressRange:
    """The addresses of a network but for its own and, of IPv4, the one for broadcasts."""

    network: Network

    @property
    def family(self) -> str:
        """Return the family, IPv4 or IPv6."""
        return f"IPv{self.network.version}"

    @property
    def name(self) -> str:
        """Implement this part of a `Range`."""
        return f"serviceips/{self.family.lower()}"

    @property
    def first(self) -> int:
        """Implement this part of a `Range`."""
        return int(self.network.network_address) + 1

    @property
    def last(self) -> int:
        """Implement this part of a `Range`."""
        return int(self.network.broadcast_address) - (1 if self.network.version == 4 else 0)

    @property
    def picked_from(self) -> int:
        """Behind the first, which is that of the servers' own Service, even while that is away."""
        return self.first + 1

    @property
    def title(self) -> str:
        """Implement this part of a `Range`."""
        return "service CIDR"

    def subject(self, number: int) -> str:
        """Implement this part of a `Range`."""
        return f"cluster IP [{self.family}]:{self.show(number)}"

    def number(self, text: str) -> int | None:
        """Return the number of an address of this family, or None."""
        address = parse_ip(text)
        return int(address) if address is not None and address.version == self.network.version else None

    def show(self, number: int) -> str:
        """The text of a number."""
        return str(_ADDRESS[self.network.version](number))

    def out_of_range(self, number: int) -> str:
        """Implement this part of a `Range`."""
        shown = self.show(number)
        return f"the provided IP ({shown}) is not in the valid range. The range of valid IPs is {self.network}"

    def taken(self, number: int) -> str:
        """Implement this part of a `Range`."""
        return "provided IP is already allocated"

    def __str__(self) -> str:
        return str(self.network)


@attrs.frozen(slots=True)
class PortRange:
    """Ports of the nodes."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """Implement this part of a `Range`."""
        return "servicenodeports"

    @property
    def picked_from(self) -> int:
        """Implement this part of a `Range`."""
        return self.first

    @property
    def title(self) -> str:
        """Implement this part of a `Range`."""
        return "port range"

    def subject(self, number: int) -> str:
        """Implement this part of a `Range`."""
        return f"node port {number}"

    def out_of_range(self, number: int) -> str:
        """Implement this part of a `Range`."""
        return f"provided port is not in the valid range. The range of valid ports is {self}"

    def taken(self, number: int) -> str:
        """Implement this part of a `Range`."""
        return "provided port is already allocated"

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"
