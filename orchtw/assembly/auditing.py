"""The audit that the flags ask for, joined to the rest of the process."""

from __future__ import annotations

import time
from random import SystemRandom
from typing import Any

from twisted.logger import Logger

from orchtw.assembly.resources import Resources
from orchtw.audit.auditor import Auditor
from orchtw.audit.backends import AuditHost, sinks
from orchtw.audit.counts import Counts
from orchtw.audit.policy_file import load
from orchtw.audit.sink import SinkUnion
from orchtw.config import Config
from orchtw.config.reloads import Reloads
from orchtw.outbound.caller import Caller

_log = Logger()


def auditing(
    config: Config, resources: Resources, caller: Caller, reloads: Reloads, reactor: Any
) -> Auditor | None:
    """None without a policy, or without a place for events (reference AUDIT-8).

    Raises ConfigError with a line for each problem of the policy, or for a file that cannot be used.
    """
    asked = bool(config.audit_log_path or config.audit_webhook_config_file)
    if config.audit_policy_file is None:
        if asked:
            _log.warn("no --audit-policy-file is given: no audit events will be recorded")
        return None
    policy = load(config.audit_policy_file, resources.naming)
    if not asked:
        _log.warn("neither --audit-log-path nor --audit-webhook-config-file is given: audit events go nowhere")
        return None
    counts = Counts(reactor)
    host = AuditHost(
        naming=resources.naming,
        clock=reactor,
        seconds=time.time,
        random=SystemRandom(),
        caller=caller,
        reloads=reloads,
        counts=counts,
        say=lambda text: reactor.callFromThread(_log.error, "audit log: {text}", text=text),
    )
    found = sinks(host, config)
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
