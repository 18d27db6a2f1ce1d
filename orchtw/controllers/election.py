"""Leader election among the servers of a cluster, for their controllers (reference CTRL-4, CTRL-50)."""

from __future__ import annotations

import socket
from collections.abc import Callable
from uuid import uuid4

import attrs

from orchtw.client.in_process import Registry
from orchtw.client.leader_election import Terms
from orchtw.client.vital_signs import VitalSigns
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.naming.names import Naming
from orchtw.storage.interface import Store

GROUP = "coordination.orch.io"


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Election:
    """The Lease and its times. `key` is where the store has it, `signs` are the signs of life beside it.

    `lost` ends a host that has lost the Lease; without it the host goes on as a candidate, and its controllers begin
    anew.
    """

    terms: Terms
    key: str
    signs: VitalSigns | None = None
    lost: Callable[[], None] | None = None


def election_of(
    config: Config, naming: Naming, registry: Registry, others: Store | None, lost: Callable[[], None], *, works: bool
) -> Election | None:
    """The election that the flags ask for; None: this host works without any.

    `others` is the store that other servers share, None if none can; `works` says whether there are any controllers.
    Where nobody has asked for an election, a host that loses it has other things to do, and goes on; else `lost`
    is called. Raises ConfigError where there are no Leases.
    """
    asked = config.leader_elect
    if asked is None and not (works and others is not None) or asked is False:
        return None
    target = registry.targets.find(naming.group(GROUP), "v1", "leases")
    if target is None:
        raise ConfigError(f"--leader-elect: {naming.group(GROUP)}/v1 leases are not served: see --runtime-config")
    terms = _terms(config, naming)
    return Election(
        terms=terms,
        key=target.stored.prefix + target.stored.tail(terms.namespace, terms.name),
        signs=None if others is None else VitalSigns(others, terms.namespace, terms.name),
        lost=lost if asked else None,
    )


def _terms(config: Config, naming: Naming) -> Terms:
    return Terms(
        identity=f"{socket.gethostname()}_{uuid4()}",
        namespace=config.leader_elect_resource_namespace or naming.system_namespace,
        name=config.leader_elect_resource_name or naming.controller_manager,
        lease_duration_s=config.leader_elect_lease_duration_s,
        renew_deadline_s=config.leader_elect_renew_deadline_s,
        retry_period_s=config.leader_elect_retry_period_s,
    )
