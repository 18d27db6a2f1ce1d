"""Workloads of the apps group."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.defaults.claims import fill_claim
from orchtw.registry.defaults.places import put
from orchtw.registry.defaults.pod import fill_pod_template

ROLLING = "RollingUpdate"


def fill_deployment(deployment: Object) -> None:
    """A quarter of the pods at a time is replaced."""
    spec = deployment["spec"]
    _fill_rolling(spec["strategy"], "25%", "25%")
    fill_pod_template(spec)


def fill_daemon_set(daemon_set: Object) -> None:
    """One pod at a time is replaced, after it has gone."""
    spec = daemon_set["spec"]
    _fill_rolling(spec["updateStrategy"], 1, 0)
    fill_pod_template(spec)


def _fill_rolling(strategy: Object, max_unavailable: int | str, max_surge: int | str) -> None:
    if strategy["type"] == ROLLING:
        given = strategy.get("rollingUpdate") or {}
        strategy["rollingUpdate"] = {"maxUnavailable": max_unavailable, "maxSurge": max_surge, **given}


def fill_stateful_set(stateful_set: Object) -> None:
    """All pods are replaced; a set that names the type and no details keeps it so."""
    spec = stateful_set["spec"]
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        put(strategy, "type", ROLLING, ("type", "rollingUpdate"))
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == ROLLING and "rollingUpdate" in strategy:
        strategy["rollingUpdate"] = {"partition": 0, **strategy["rollingUpdate"]}
    fill_pod_template(spec)
    for claim in spec.get("volumeClaimTemplates") or ():
        fill_claim(claim)


def fill_replica_set(replica_set: Object) -> None:
    """The template alone; the rest is declared."""
    fill_pod_template(replica_set["spec"])
