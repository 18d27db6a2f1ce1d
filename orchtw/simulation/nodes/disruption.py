"""Zones, and how fast pods may be evicted from their nodes: not at all when everything is down (reference SIM-12)."""

from __future__ import annotations

from typing import Final

NORMAL: Final = "Normal"
PARTIAL: Final = "PartialDisruption"
FULL: Final = "FullDisruption"

_PARTIAL_SHARE: Final = 0.55
_PARTIAL_LEAST: Final = 3
_LARGE: Final = 50
_PERIOD_S: Final = 10.0
_SLOW_PERIOD_S: Final = 100.0


class Zone:
    """Numbers of the nodes of one zone, and the time at which the next one may be evicted."""

    def __init__(self) -> None:
        self.nodes = 0
        self.not_ready = 0
        self.next_s = 0.0

    @property
    def state(self) -> str:
        """Return the zone's state."""
        if self.not_ready and self.not_ready == self.nodes:
            return FULL
        if self.not_ready >= _PARTIAL_LEAST and self.not_ready / self.nodes >= _PARTIAL_SHARE:
            return PARTIAL
        return NORMAL


class Zones:
    """All zones of the cluster, by the readiness of their nodes."""

    def __init__(self) -> None:
        self._zones: dict[str, Zone] = {}
        self._nodes: dict[str, tuple[str, bool]] = {}

    def put(self, node: str, zone: str, ready: bool) -> None:
        """Take in a node, new or changed."""
        if self._nodes.get(node) == (zone, ready):
            return
        self.drop(node)
        self._nodes[node] = zone, ready
        found = self._zones.setdefault(zone, Zone())
        found.nodes += 1
        found.not_ready += not ready

    def drop(self, node: str) -> None:
        """Forget a node, which leaves its zone."""
        zone, ready = self._nodes.pop(node, ("", True))
        found = self._zones.get(zone)
        if found is not None:
            found.nodes -= 1
            found.not_ready -= not ready
            if not found.nodes:
                del self._zones[zone]

    @property
    def down(self) -> bool:
        """Report whether no node of any zone is ready: then it is rather we who are cut off."""
        return bool(self._zones) and all(zone.state == FULL for zone in self._zones.values())

    def states(self) -> dict[str, str]:
        """Return the states of the zones."""
        return {name: zone.state for name, zone in self._zones.items()}

    def members(self, zone: str) -> list[str]:
        """Return the names of a zone's nodes that are not ready."""
        return [name for name, (place, ready) in self._nodes.items() if place == zone and not ready]

    def wait_s(self, node: str, now_s: float) -> float | None:
        """Return the seconds until pods of a node may be evicted: 0 lets the next node wait; None: not at all."""
        zone = self._zones[self._nodes[node][0]]
        if self.down or (zone.state == PARTIAL and zone.nodes <= _LARGE):
            return None
        if now_s < zone.next_s:
            return zone.next_s - now_s
        zone.next_s = now_s + (_SLOW_PERIOD_S if zone.state == PARTIAL else _PERIOD_S)
        return 0.0
