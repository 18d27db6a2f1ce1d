"""The checks behind /livez and /readyz, in the order of reference OPS-7, and the conditions that the start meets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from twisted.internet.interfaces import IReactorTime

from orchtw.assembly.bootstrap import steps_of
from orchtw.assembly.flow_control import has_priorities
from orchtw.assembly.foundation import Foundation
from orchtw.assembly.resources import Resources
from orchtw.bootstrap.agreement import Agreement
from orchtw.controllers.manager import Manager
from orchtw.endpoints.checks import (
    EVERYWHERE,
    LIVEZ,
    READYZ,
    Checks,
    Condition,
    LogFlow,
    Run,
    Underway,
    dependency_check,
    filled,
    store_check,
)
from orchtw.naming.naming import Naming

AUTOREGISTRATION: Final = "orch-apiserver-autoregistration"
"""The step that makes the APIServices; check `autoregister-completion` waits for it as well."""


DEFINITION_HOOKS = ("start-apiextensions-controllers", "crd-informer-synced")
"""Start steps that are done once everything is served that definitions define."""


PRIORITY_HOOKS = ("priority-and-fairness-config-consumer", "priority-and-fairness-filter")
"""Start steps of priority and fairness, which follows its objects from the moment at which they are known."""


class Readiness:
    """Readiness checks. `steps` are the names of the bootstrap steps that this process carries out; each is a start
    hook.

    The store has `store_s` seconds to answer a check. `agreement` is with the servers that share the store, or None
    for a store of its own. `priorities`: whether priority and fairness is on.
    """

    @classmethod
    def of(cls, base: Foundation, controllers: Manager, agreement: Agreement | None) -> Readiness:
        """Return the checks that follow from the flags."""
        config = base.config
        return cls(
            base.resources,
            controllers,
            steps_of(config.generic.gates) if config.cluster.bootstrap else (),
            base.reactor,
            config.storage.etcd.healthcheck_timeout_s,
            agreement=agreement,
            priorities=has_priorities(config),
        )

    def __init__(
        self,
        resources: Resources,
        controllers: Manager,
        steps: Sequence[str],
        clock: IReactorTime,
        store_s: float,
        *,
        agreement: Agreement | None,
        priorities: bool,
    ) -> None:
        store, cacher, ready = resources.store, resources.cacher, frozenset({READYZ})
        self.checks = checks = Checks(resources.naming)
        checks.add("ping", _pass)
        checks.add("log", LogFlow(clock))
        checks.add("etcd", store_check(store.check, clock, store_s), EVERYWHERE - {LIVEZ})
        checks.add("etcd", store_check(store.alive, clock, store_s), frozenset({LIVEZ}))
        for name, check in store.dependencies.items():
            checks.add(name, dependency_check(name, check), EVERYWHERE - {LIVEZ})
        started = Condition("caches are not filled yet")
        checks.add("informer-sync", filled(started, lambda: cacher.damaged, lambda: cacher.loading), ready)
        self._filled: list[Condition] = [started]
        self._started: list[Condition] = []
        for name in cache_hooks(resources.naming, priorities=priorities):
            hook = checks.hook(name, started)
            (self._started if name in DEFINITION_HOOKS else self._filled).append(hook)
            if name in DEFINITION_HOOKS:
                hook.progress = lambda: cacher.adding
        self._steps = {name: checks.hook(name, started) for name in steps}
        self._filled.append(checks.hook("apiservice-registration-controller", started))
        others = aggregation_hooks(bootstraps=AUTOREGISTRATION in steps)
        self._started += [checks.hook(name, started) for name in others]
        if AUTOREGISTRATION in steps:
            self._registered = Condition("APIServices of this server are missing")
            checks.add("autoregister-completion", self._registered, EVERYWHERE - {LIVEZ})
            checks.add("autoregister-completion", unless_waiting(self._registered, agreement), frozenset({LIVEZ}))
        for controller in controllers.controllers:
            checks.add(f"controller/{controller.name}", partial(controllers.check, controller.name))
        if agreement is not None:
            checks.add("servers-agree", agreed(agreement), ready)
        self._serving = checks.condition("shutdown", "process is shutting down", met=True, endpoints=ready)

    def caches_filled(self) -> None:
        """Note that the caches are filled."""
        for condition in self._filled:
            condition.met = True

    def services_started(self) -> None:
        """Note that background services run and established custom resources are served (reference REQ-31)."""
        for condition in self._started:
            condition.met = True

    def step_ended(self, name: str) -> Callable[[bool], None]:
        """Return a callback that takes, after each try, whether a bootstrap step has succeeded."""
        hook = self._steps[name]

        def ended(done: bool) -> None:
            hook.ended(done=done)
            if done and name == AUTOREGISTRATION:
                self._registered.met = True

        return ended

    def begin_shutdown(self) -> None:
        """Tell load balancers that the end is near."""
        self._serving.met = False


def cache_hooks(naming: Naming, *, priorities: bool) -> tuple[str, ...]:
    """Names of the start steps that are done once all caches are filled, in their order (reference OPS-8).

    Those of definitions are among them, which take a little longer.
    """
    return (
        naming.admission_hook,
        "generic-apiserver-start-informers",
        *(PRIORITY_HOOKS if priorities else ()),
        "start-apiextensions-informers",
        *DEFINITION_HOOKS,
        naming.aggregator_hook,
    )


def aggregation_hooks(*, bootstraps: bool) -> tuple[str, ...]:
    """Names of the start steps that are done once APIs of other servers are followed; conditions are for one of the
    processes of a cluster (reference OPS-12).
    """
    fetched = "apiservice-openapi-controller", "apiservice-openapiv3-controller"
    return ("apiservice-status-available-controller", *fetched) if bootstraps else fetched


def agreed(agreement: Agreement) -> Run:
    """Check `servers-agree`: fails while another server stands in the way, and says which and in what.

    What other servers have otherwise without doing harm is a remark.
    """

    async def run() -> str | None:
        if not agreement.agreed:
            raise Underway(agreement.objection)
        return "; ".join(agreement.remarks) or None

    return run


def unless_waiting(condition: Condition, agreement: Agreement | None) -> Run:
    """Return a condition of `/livez`, which a server does not meet that waits for others: a restart would change
    nothing.
    """

    async def run() -> None:
        if agreement is None or agreement.agreed:
            await condition()

    return run


async def _pass() -> None:
    """Pass: the process answers."""
