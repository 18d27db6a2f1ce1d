"""Workloads of the apps group."""

from __future__ import annotations

from orchtw.registry.groups.apps.controller_revisions import CONTROLLER_REVISION
from orchtw.registry.groups.apps.daemon_sets import DAEMON_SET
from orchtw.registry.groups.apps.deployments import DEPLOYMENT
from orchtw.registry.groups.apps.replica_sets import REPLICA_SET
from orchtw.registry.groups.apps.stateful_sets import STATEFUL_SET

KINDS = (CONTROLLER_REVISION, DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET)
