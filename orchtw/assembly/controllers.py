"""Controllers of this process, with what they need of the other parts."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from orchtw.assembly.aggregation import Aggregation
from orchtw.assembly.foundation import Foundation
from orchtw.assembly.membership import Membership
from orchtw.assembly.metrics import Instruments
from orchtw.assembly.simulation import Simulated
from orchtw.authz.decision import Authorizer
from orchtw.client.in_process import Registry
from orchtw.controllers.certificates.signing import Means
from orchtw.controllers.embedded import ControllerIdentity, QuotaCharges, embedded
from orchtw.controllers.manager import Manager
from orchtw.pki.cluster_signing import ClusterSigning
from orchtw.pki.followed_files import FollowedFiles


class ControllerParts(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Parts of the server that controllers work with."""

    registry: Registry
    authorizer: Authorizer
    aggregation: Aggregation
    membership: Membership
    metrics: Instruments
    simulated: Simulated


def controllers(base: Foundation, parts: ControllerParts) -> Manager:
    """Build the controllers that the flags ask for, a service of the server."""
    config, resources, member = base.config, base.resources, parts.membership
    _follow_authorities(base, member.signing)
    made = embedded(
        config.controllers,
        config.generic.gates,
        resources.naming,
        parts.registry,
        base.reactor,
        base.reactor.stop,
        authorizer=parts.authorizer,
        identity=ControllerIdentity(tokens=member.accounts, root_ca_pem=member.root_ca_pem),
        metrics_for=parts.metrics.queues.of,
        signing=Means(member.signing, timedelta(seconds=config.signing.duration_s), resources.offload),
        plugins=config.plugins,
        simulated=parts.simulated.controllers(),
        charges=QuotaCharges(unsettled=resources.unsettled, shared=resources.store.shared),
        aggregated=parts.aggregation.joined,
        others=resources.store if member.leases.shared else None,
    )
    base.join(made)
    parts.metrics.show_election(made, resources.naming.controller_manager)
    return made


def _follow_authorities(base: Foundation, signing: ClusterSigning) -> None:
    """Read the files of authorities again when they change, and on SIGHUP."""
    if not signing.files:
        return
    what = "authorities that sign certificates"
    followed = FollowedFiles(what, signing.files, signing.read, base.reactor)
    base.join(followed)
    base.reloads.add(what, followed.read)
