"""Decisions of the scheduler that are yet to be written."""

from __future__ import annotations

import attrs

from orchtw.simulation.scheduling.pending import Pending
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.static_volumes import Choice

NO_CHOICE = Choice((), ())


@attrs.define(slots=True, eq=False)
class Placement:
    """A pod that is to be bound to a node. `began_s`: simulated seconds at which it began to wait for its volumes."""

    pending: Pending
    node: str
    volumes: Choice = NO_CHOICE
    began_s: float | None = None


@attrs.frozen(slots=True, eq=False)
class Rejection:
    """A pod that fits nowhere, and what is done about it.

    `victims` leave `node`, on which the pod gets room reserved; `displaced` are pods that had it reserved before.
    """

    pod: PodInfo
    message: str
    node: str = ""
    victims: tuple[PodInfo, ...] = ()
    displaced: tuple[PodInfo, ...] = ()
