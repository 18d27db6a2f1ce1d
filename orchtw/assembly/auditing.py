"""The audit that the flags ask for, joined to the rest of the process."""

from __future__ import annotations

import time
from random import SystemRandom
from typing import Final

from twisted.logger import Logger

from orchtw.assembly.foundation import Foundation
from orchtw.assembly.metrics import Instruments
from orchtw.audit.auditor import Auditor
from orchtw.audit.counts import Counts
from orchtw.audit.policy_file import load
from orchtw.audit.sink import SinkUnion
from orchtw.outbound.caller import Caller

_log = Logger()

LOCK: Final = "audit.lock"
"""Lock file in the data folder: the processes of one server write in turn."""


def auditing(base: Foundation, caller: Caller, instruments: Instruments) -> Auditor | None:
    """Build the auditor; its counts are shown where nothing is recorded too, since dashboards look for the zeros."""
    auditor = _auditor(base, caller)
    counts = Counts(base.reactor) if auditor is None else auditor.counts
    instruments.show(counts.families())
    return auditor


def _auditor(base: Foundation, caller: Caller) -> Auditor | None:
    """Return the auditor; None without a policy or without a backend (reference AUDIT-8).

    Raises ConfigError with a line for each problem of the policy, or for a file that cannot be used.
    """
    config, resources, reactor = base.config, base.resources, base.reactor
    options = config.audit
    asked = bool(options.log.path or options.webhook.config_file)
    if options.policy_file is None:
        if asked:
            _log.warn("no --audit-policy-file is given: no audit events will be recorded")
        return None
    policy = load(options.policy_file, resources.naming)
    if not asked:
        _log.warn("neither --audit-log-path nor --audit-webhook-config-file is given: audit events are discarded")
        return None
    from orchtw.audit.backends import AuditHost, sinks

    counts = Counts(reactor)
    host = AuditHost(
        naming=resources.naming,
        clock=reactor,
        seconds=time.time,
        random=SystemRandom(),
        caller=caller,
        reloads=base.reloads,
        counts=counts,
        lock=config.generic.data_dir / LOCK if config.serving.workers > 1 else None,
        say=lambda text: reactor.callFromThread(_log.error, "audit log: {text}", text=text),
    )
    found = sinks(host, options)
    return Auditor(
        policy=policy,
        sink=found[0] if len(found) == 1 else SinkUnion(found),
        counts=counts,
        naming=resources.naming,
        codecs=resources.codecs,
        offload=resources.offload,
        seconds=time.time,
        clock=reactor,
    )
