"""Ranges of addresses and ports for Services, and their texts in error messages."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Final, Protocol

import msgspec

from orchtw.values.addresses import Network, parse_ip

FULL: Final = "range is full"

_ADDRESS: Final[Mapping[int, type[IPv4Address] | type[IPv6Address]]] = {4: IPv4Address, 6: IPv6Address}


class Range(Protocol):
    """Consecutive numbers, both ends included."""

    @property
    def name(self) -> str:
        """Name of the blocks of such numbers in the store, the same for any range."""

    @property
    def first(self) -> int:
        """Lowest number of the range."""

    @property
    def last(self) -> int:
        """Highest number of the range."""

    @property
    def picked_from(self) -> int:
        """Lowest number for dynamic allocation."""

    @property
    def title(self) -> str:
        """Kind of range, as messages name it."""

    def subject(self, number: int) -> str:
        """Return the name of a number, as messages show it."""

    def out_of_range(self, number: int) -> str:
        """Return the reason to refuse a number beyond the range."""

    def taken(self, number: int) -> str:
        """Return the reason to refuse a number that is taken."""


class AddressRange(msgspec.Struct, frozen=True):
    """The addresses of a network but for its own and, of IPv4, the one for broadcasts."""

    network: Network

    @property
    def family(self) -> str:
        """IP family, IPv4 or IPv6."""
        return f"IPv{self.network.version}"

    @property
    def name(self) -> str:
        """Name of the blocks, by IP family."""
        return f"serviceips/{self.family.lower()}"

    @property
    def first(self) -> int:
        """Number of the first address after the network's own."""
        return int(self.network.network_address) + 1

    @property
    def last(self) -> int:
        """Number of the last address; in IPv4 the one before the broadcast address."""
        return int(self.network.broadcast_address) - (1 if self.network.version == 4 else 0)

    @property
    def picked_from(self) -> int:
        """Number after the first, which is kept for the servers' own Service, even while that is deleted."""
        return self.first + 1

    @property
    def title(self) -> str:
        """Kind of range: a service CIDR."""
        return "service CIDR"

    def subject(self, number: int) -> str:
        """Return the family and text of an address, as messages show it."""
        return f"cluster IP [{self.family}]:{self.show(number)}"

    def number(self, text: str) -> int | None:
        """Return the number of an address of this family, or None."""
        address = parse_ip(text)
        return int(address) if address is not None and address.version == self.network.version else None

    def show(self, number: int) -> str:
        """Return the text of a number's address."""
        return str(_ADDRESS[self.network.version](number))

    def out_of_range(self, number: int) -> str:
        """Return the reason to refuse an address outside of the network."""
        shown = self.show(number)
        return f"the provided IP ({shown}) is not in the valid range. The range of valid IPs is {self.network}"

    def taken(self, number: int) -> str:
        """Return the reason to refuse an address that is taken."""
        return "provided IP is already allocated"

    def __str__(self) -> str:
        return str(self.network)


class PortRange(msgspec.Struct, frozen=True):
    """Range of ports of the nodes."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """Name of the blocks of node ports."""
        return "servicenodeports"

    @property
    def picked_from(self) -> int:
        """First port: all of the range is for dynamic allocation."""
        return self.first

    @property
    def title(self) -> str:
        """Kind of range: a port range."""
        return "port range"

    def subject(self, number: int) -> str:
        """Return the name of a node port, as messages show it."""
        return f"node port {number}"

    def out_of_range(self, number: int) -> str:
        """Return the reason to refuse a port outside of the range."""
        return f"provided port is not in the valid range. The range of valid ports is {self}"

    def taken(self, number: int) -> str:
        """Return the reason to refuse a port that is taken."""
        return "provided port is already allocated"

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"
