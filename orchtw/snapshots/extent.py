"""Extent of the state: the keys of the store that snapshots hold and restores bring back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from orchtw.bootstrap.sealed_record import KEY as HANDED_OVER
from orchtw.bootstrap.server_leases import SERVERS
from orchtw.client.vital_signs import SIGNS
from orchtw.registry.targets import REGISTRY

LEFT_ALONE: Final = (SERVERS, SIGNS, HANDED_OVER)
"""Prefixes of keys that are no API objects and live as long as a server, or outlive all: records of the servers and
signs of life of leaders, which their writers renew, and keys that servers hand over.

Numbers taken by Services (`registry.allocation`) are state: they go back with the Services.
"""

DEFINITIONS: Final = f"{REGISTRY}apiextensions.orch.io/customresourcedefinitions/"
"""Prefix of the definitions of custom resources, which are deleted after their objects."""


class Extent:
    """Keys that are state: all below `/registry/`, but for LEFT_ALONE and the `renewed` ones.

    These are API objects that this server renews while it runs, such as the Lease that its controllers hold: without
    them as they are it would lose its right to write.
    """

    def __init__(self, renewed: Collection[str] = ()) -> None:
        self._renewed = frozenset(renewed)

    def holds(self, key: str) -> bool:
        """Report whether a key is a part of the state."""
        return key not in self._renewed and not key.startswith(LEFT_ALONE)
