"""Leader election among the servers of a cluster, for their controllers (reference CTRL-4, CTRL-50)."""

from __future__ import annotations

import socket
from collections.abc import Callable
from uuid import uuid4

import msgspec

from orchtw.client.in_process import Registry
from orchtw.client.leader_election import Terms
from orchtw.client.vital_signs import VitalSigns
from orchtw.config.controllers import ElectionOptions
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.storage.store import Store

GROUP = "coordination.orch.io"


class Election(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Lease of an election and its times. `key` is its key in the store; `signs` are the signs of life beside it.

    `lost` ends a host that has lost the Lease; without it the host goes on as a candidate, and its controllers begin
    anew.
    """

    terms: Terms
    key: str
    signs: VitalSigns | None = None
    lost: Callable[[], None] | None = None


def election_of(
    options: ElectionOptions,
    naming: Naming,
    registry: Registry,
    others: Store | None,
    lost: Callable[[], None],
    *,
    works: bool,
) -> Election | None:
    """Return the election that the flags ask for; None: this host works without one.

    `others` is the store that other servers share, or None; `works`: there are controllers. A host that loses an
    election not asked for by flag goes on with its other work; else `lost` is called. Raises ConfigError if Leases
    are not served.
    """
    asked = options.enabled
    if asked is None and not (works and others is not None) or asked is False:
        return None
    target = registry.targets.find(naming.group(GROUP), "v1", "leases")
    if target is None:
        raise ConfigError(f"--leader-elect: {naming.group(GROUP)}/v1 leases are not served: see --runtime-config")
    terms = _terms(options, naming)
    return Election(
        terms=terms,
        key=target.stored.prefix + target.stored.tail(terms.namespace, terms.name),
        signs=None if others is None else VitalSigns(others, terms.namespace, terms.name),
        lost=lost if asked else None,
    )


def _terms(options: ElectionOptions, naming: Naming) -> Terms:
    return Terms(
        identity=f"{socket.gethostname()}_{uuid4()}",
        namespace=options.resource_namespace or naming.system_namespace,
        name=options.resource_name or naming.controller_manager,
        lease_duration_s=options.lease_duration_s,
        renew_deadline_s=options.renew_deadline_s,
        retry_period_s=options.retry_period_s,
    )
