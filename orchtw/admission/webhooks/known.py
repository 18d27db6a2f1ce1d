"""Webhooks of one kind of configuration, and those of them that a write may match."""

from __future__ import annotations

from functools import partial
from typing import Final

from orchtw.admission.attributes import NOT_READY, Attributes, Operation
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.admission.webhooks.configurations import Configurations
from orchtw.admission.webhooks.credentials import identities_of
from orchtw.admission.webhooks.hook import configuration_of
from orchtw.admission.webhooks.plans import Plans
from orchtw.admission.webhooks.selection import Selection, selection
from orchtw.registry.listers.namespaces import Namespaces
from orchtw.schema.catalogue import ResourceType

GROUP: Final = "admissionregistration.orch.io"
MUTATING: Final = "mutatingwebhookconfigurations"
VALIDATING: Final = "validatingwebhookconfigurations"
POLICIES: Final = tuple(
    f"{word}admission{noun}" for word in ("mutating", "validating") for noun in ("policies", "policybindings")
)
"""Plurals of admission policies and their bindings."""


class Webhooks:
    """Webhooks of the configurations under `plural`. Raises ConfigError for credentials that cannot be read."""

    def __init__(self, host: AdmissionHost, given: Given | None, plural: str) -> None:
        group = host.naming.group(GROUP)
        self._exempt = frozenset(f"{each}.{group}" for each in (MUTATING, VALIDATING, *POLICIES))
        self._own = host.naming.api_server_user
        make = partial(configuration_of, identities=identities_of(given, host.naming, host.clock))
        stored = host.targets.stored_target(group, "v1", plural).stored
        self._configurations = Configurations(stored, make, host.offload.run, host.clock)
        self._plans = Plans(self._configurations)
        self._configurations.changed = self._plans.forget
        host.targets.listen(self._plans.forget)
        self._namespaces = Namespaces(host.targets)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle all but configurations of admission, so that a bad one can be repaired (reference HOOK-6)."""
        return resource.qualified not in self._exempt

    def idle(self, attributes: Attributes) -> bool:
        """Report whether no webhook can match a write, as `selected` would find."""
        if attributes.request is None and attributes.user.name == self._own:
            return True
        configurations = self._configurations
        return configurations.ready and (configurations.empty or self._plans.of(attributes).empty)

    async def in_force(self) -> None:
        """Return when the configurations that the cache has decide on writes."""
        await self._configurations.in_force()

    async def selected(self, attributes: Attributes) -> Selection | None:
        """Return the webhooks that may match a write, or None for no match and for the server's own writes.

        Raises Forbidden (403) while the configurations are not known.
        """
        if attributes.request is None and attributes.user.name == self._own:
            return None
        configurations = self._configurations
        if not configurations.ready and not await configurations.settled():
            raise attributes.forbidden(NOT_READY)
        if configurations.empty:
            return None
        plan = self._plans.of(attributes)
        return None if plan.empty else await selection(plan, attributes, self._namespaces)
