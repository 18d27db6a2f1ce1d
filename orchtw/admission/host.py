"""What the server gives to its admission plugins."""

from __future__ import annotations

import attrs
from twisted.internet.interfaces import IReactorTime

from orchtw.admission.metrics import AdmissionMetrics
from orchtw.authz.decision import Authorizer
from orchtw.naming import Naming
from orchtw.registry.targets import Targets


@attrs.frozen(slots=True, kw_only=True)
class Host:
    """What plugins get of the server; the caches behind `targets` are filled before the first write.

    `clock` is the reactor, for those that wait or ask others; `authorizer` is the one that requests pass. What
    plugins count of calls to others goes to `metrics`.
    """

    naming: Naming
    clock: IReactorTime
    targets: Targets
    authorizer: Authorizer
    metrics: AdmissionMetrics = attrs.field(factory=AdmissionMetrics)
