"""Readers of objects, now or as of a revision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from orchtw.testing.control import calls
from orchtw.testing.control.answers import ApiError
from orchtw.testing.control.blocking import finish
from orchtw.testing.control.calls import Call
from orchtw.testing.control.resources import ResourceNames
from orchtw.testing.control.selectors import Selected

Object = dict[str, Any]
Objects = list[Object]

Describe = Callable[[str, str, str], Call[Any]]
"""Returns the call for the document of a path with label and field selectors."""


class Send(Protocol):
    """Sender of calls to one server."""

    async def __call__(self, call: Call[Any], /) -> Any:
        """Return the result of a call. Raises ApiError."""


class AsyncReader:
    """Reader with coroutines. Resources are named as for kubectl: `pods`, `deploy`, `deployments.apps`."""

    def __init__(self, send: Send, names: ResourceNames, describe: Describe = calls.document) -> None:
        self._send = send
        self._names = names
        self._describe = describe

    async def get(self, text: str, namespace: str = "") -> Object | None:
        """Return an object, such as `deployments.apps/web`, by default of namespace `default`; None: there is none.

        Raises UnknownResource and ApiError.
        """
        selected = Selected.of(text, namespace, "", "")
        if not selected.name:
            raise ValueError(f"{text!r}: must be RESOURCE/NAME")
        resource = await self._names.find(selected.resource)
        try:
            found: Object = await self._send(self._describe(resource.object(namespace, selected.name), "", ""))
        except ApiError as error:
            if calls.missing(error):
                return None
            raise
        return found

    async def list(self, resource: str, namespace: str = "", *, labels: str = "", fields: str = "") -> Objects:
        """Return the objects of a namespace, by default of all, that match the selectors.

        Raises UnknownResource and ApiError.
        """
        found = await self._names.find(resource)
        listed = await self._send(self._describe(found.collection(namespace), labels, fields))
        items: Objects = listed["items"]
        return items


class Reader:
    """Reader whose methods block."""

    def __init__(self, reader: AsyncReader) -> None:
        self._reader = reader

    def get(self, text: str, namespace: str = "") -> Object | None:
        """Return an object, such as `deployments.apps/web`, by default of namespace `default`; None: there is none.

        Raises UnknownResource and ApiError.
        """
        return finish(self._reader.get(text, namespace))

    def list(self, resource: str, namespace: str = "", *, labels: str = "", fields: str = "") -> Objects:
        """Return the objects of a namespace, by default of all, that match the selectors.

        Raises UnknownResource and ApiError.
        """
        return finish(self._reader.list(resource, namespace, labels=labels, fields=fields))
