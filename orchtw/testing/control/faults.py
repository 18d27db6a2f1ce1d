"""Faults on demand: rules that are added, listed and removed, with coroutines or blocking."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import attrs

from orchtw.testing.control import calls
from orchtw.testing.control.blocking import finish
from orchtw.testing.control.calls import AddedFault
from orchtw.testing.control.reader import Send
from orchtw.testing.control.resources import ResourceNames, UnknownResource

Texts = str | Collection[str]


class FaultPlace(TypedDict, total=False):
    """Requests that a fault may strike; each field is one value or several."""

    user: Texts
    group: Texts
    resource: Texts
    namespace: Texts


class FaultFields(FaultPlace, total=False):
    """Fields of a fault rule, as described with `/debug/faults`.

    Resources are named as for kubectl; `labels` is a selector or a mapping. `seconds` and `retry_after_s` are times
    in seconds; `after_events` and `in_stream` are about watches.
    """

    fault: str
    status: int
    verb: Texts
    subresource: Texts
    name: Texts
    labels: str | Mapping[str, str]
    message: str
    retry_after_s: int
    seconds: float
    revisions: int
    in_stream: bool
    after_events: int
    when: str
    times: int
    after: int
    probability: float
    seed: int
    gap: int


class AsyncFaults:
    """Control of the faults on demand."""

    def __init__(self, send: Send, names: ResourceNames) -> None:
        self._send = send
        self._names = names

    async def add(self, **fields: Unpack[FaultFields]) -> AddedFault:
        """Add a rule, such as `status=409, verb="update", resource="configmaps", times=2`.

        Raises UnknownResource for a resource that the server does not have, ApiError (400) with what else is wrong.
        """
        added: AddedFault = await self._send(calls.add_fault(await self._resolved(fields)))
        return added

    async def chaos(self, seed: int, **place: Unpack[FaultPlace]) -> Sequence[AddedFault]:
        """Add the rules of the preset `chaos`, under which no correct controller fails.

        Raises UnknownResource, ApiError (400).
        """
        added: Sequence[AddedFault] = await self._send(calls.add_chaos(seed, await self._resolved(place)))
        return added

    async def get(self, fault: AddedFault | str) -> AddedFault:
        """Return a rule, or one by its id, with how often it has struck until now. Raises ApiError (404)."""
        found: AddedFault = await self._send(calls.get_fault(fault))
        return found

    async def list(self) -> Sequence[AddedFault]:
        """Return the rules, with how often each has struck until now."""
        listed: Sequence[AddedFault] = await self._send(calls.list_faults())
        return listed

    async def remove(self, fault: AddedFault | str) -> None:
        """Remove a rule, or one by its id. Raises ApiError (404)."""
        await self._send(calls.remove_fault(fault))

    async def clear(self) -> None:
        """Remove all fault rules."""
        await self._send(calls.clear_faults())

    async def _resolved(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a rule with the plurals of its resources, and with their groups if they are named.

        The server matches plurals only, so a rule for any other name would never strike. Raises UnknownResource.
        """
        made = dict(fields)
        if isinstance(labels := made.get("labels"), Mapping):
            made["labels"] = ",".join(f"{name}={value}" for name, value in labels.items())
        if "resource" not in made:
            return made
        texts, groups = _several(made["resource"]), _several(made.get("group", ()))
        found = [await self._found(text, groups) for text in texts]
        made["resource"] = list(dict.fromkeys(plural for _, plural in found))
        if not groups and any("." in text for text in texts):
            made["group"] = list(dict.fromkeys(group for group, _ in found))
        return made

    async def _found(self, text: str, groups: Sequence[str]) -> tuple[str, str]:
        """Return group and plural of a resource, which is in one of the groups if there are any."""
        for name in [f"{text}.{group or 'v1'}" for group in groups] or [text]:
            try:
                resource = await self._names.find(name)
            except UnknownResource:
                continue
            return resource.group, resource.plural
        inside = f" in the group {' or '.join(map(repr, groups))}" if groups else ""
        raise UnknownResource(f"the server has no resource {text!r}{inside}: a rule for it would never strike")


@attrs.frozen(slots=True)
class LiveFault(AddedFault):
    """Fault rule in the server, whose `struck` is up to date."""

    _ask: Callable[[str], AddedFault] = attrs.field(eq=False, repr=False)

    @property
    def struck(self) -> int:
        """Return how many requests it has struck until now. Raises ApiError (404) for a rule that was removed."""
        return int(self._ask(self.id).rule["struck"])


class Faults:
    """Faults on demand: `server.faults.add(status=409, verb="update", resource="configmaps", times=2)`."""

    def __init__(self, faults: AsyncFaults) -> None:
        self._faults = faults

    def add(self, **fields: Unpack[FaultFields]) -> LiveFault:
        """Add a rule.

        Raises UnknownResource for a resource that the server does not have, ApiError (400) with what else is wrong.
        """
        return self._live(finish(self._faults.add(**fields)))

    def chaos(self, seed: int, **place: Unpack[FaultPlace]) -> Sequence[LiveFault]:
        """Add the rules of the preset `chaos`, under which no correct controller fails.

        Raises UnknownResource, ApiError (400).
        """
        return [self._live(each) for each in finish(self._faults.chaos(seed, **place))]

    def get(self, fault: AddedFault | str) -> LiveFault:
        """Return a rule, or one by its id. Raises ApiError (404)."""
        return self._live(finish(self._faults.get(fault)))

    def list(self) -> Sequence[LiveFault]:
        """Return the rules, with how often each has struck."""
        return [self._live(each) for each in finish(self._faults.list())]

    def remove(self, fault: AddedFault | str) -> None:
        """Remove a rule, or one by its id. Raises ApiError (404)."""
        finish(self._faults.remove(fault))

    def clear(self) -> None:
        """Remove all fault rules."""
        finish(self._faults.clear())

    def _live(self, fault: AddedFault) -> LiveFault:
        return LiveFault(fault.id, fault.rule, lambda name: finish(self._faults.get(name)))


def _several(value: Texts) -> list[str]:
    return [value] if isinstance(value, str) else [*value]
