"""What the process measures of itself, and from where `/metrics` reads it (reference METRIC-5, METRIC-7)."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.assembly.resources import Resources
from orchtw.config import Config
from orchtw.endpoints.version import version_of
from orchtw.metrics.authentication import Attempts
from orchtw.metrics.registry import Registry
from orchtw.metrics.requests import RequestMetrics
from orchtw.metrics.series import OTHER, gauges
from orchtw.naming import Naming

_BUILD = {
    "major": "major",
    "minor": "minor",
    "git_version": "gitVersion",
    "git_commit": "gitCommit",
    "git_tree_state": "gitTreeState",
    "build_date": "buildDate",
    "go_version": "goVersion",
    "compiler": "compiler",
    "platform": "platform",
}


class Instruments:
    """`registry` has everything that is shown; the other attributes are for those who count."""

    def __init__(self, config: Config, resources: Resources) -> None:
        naming, self._targets = resources.naming, resources.targets
        major, minor = map(int, naming.release.split("."))
        self.registry = Registry(
            release=(major, minor),
            disabled=config.disabled_metrics,
            hidden=bool(config.show_hidden_metrics_for_version),
            allowed=config.allowed_labels,
        )
        self._never_stored = {
            (each.group, each.version, each.plural) for each in resources.enabled if each.storage_version is None
        }
        self.passed_on: Mapping[tuple[str, str], object] = {}
        self.requests = RequestMetrics(self.registry, self._served)
        self.attempts = Attempts(self.registry, told_apart(naming))
        resources.targets.listen(self.requests.resources_changed)
        build_info(self.registry, naming)

    def _served(
        self, group: str, version: str, resource: str, subresource: str
    ) -> tuple[str, str, str, str] | None:
        """See `requests.Named`: of what other servers serve only the group version is known."""
        target = self._targets.find(group, version, resource)
        if target is not None:
            known = not subresource or any(sub.name == subresource for sub in target.resource.subresources)
            return group, version, resource, subresource if known else OTHER
        if (group, version, resource) in self._never_stored:
            return group, version, resource, OTHER if subresource else ""
        return (group, version, OTHER, "") if (group, version) in self.passed_on else None


def told_apart(naming: Naming) -> tuple[str, ...]:
    """The users that `authenticated_user_requests` names."""
    return (
        "admin",
        "client",
        naming.node_proxy.replace("-", "_"),
        naming.node_agent,
        f"system:serviceaccount:{naming.system_namespace}:default",
    )


def build_info(registry: Registry, naming: Naming) -> None:
    """What serves, as `/version` says it."""
    document = version_of(naming)
    family = gauges(naming.build_info_metric, "What the server was built from.", tuple(_BUILD))
    registry.add(family).of(*(document[key] for key in _BUILD.values())).value = 1
