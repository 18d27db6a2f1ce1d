"""ComponentStatus, deprecated and never stored: the health of the store as an object (supplement B10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from orchtw.errors import NotFound, StatusError
from orchtw.request import Request, Response
from orchtw.schema.codec import Codecs
from orchtw.verbs.accept import Acceptance
from orchtw.verbs.representation import Representations

STORE_COMPONENT = "etcd-0"
"""The name that clients know the store under, whatever it is."""


class ComponentStatuses:
    """Answers get and list; `check` raises when the store is not well."""

    def __init__(
        self,
        codecs: Codecs,
        acceptance: Acceptance,
        representations: Representations,
        check: Callable[[], Awaitable[None]],
    ) -> None:
        self._codec = codecs.kind("v1", "ComponentStatus")
        self._acceptance = acceptance
        self._representations = representations
        self._check = check

    async def get(self, request: Request) -> Response:
        """200 and one component; NotFound (404)."""
        assert request.info is not None
        if request.info.name != STORE_COMPONENT:
            raise NotFound.of("componentstatuses", "", request.info.name)
        obj = self._codec.normalise(await self._status())
        return self._representations.obj(obj, self._acceptance.plain(request))

    async def list(self, request: Request) -> Response:
        """200 and all components."""
        items = [await self._status()]
        found = {"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": items}
        return self._representations.obj(found, self._acceptance.plain(request))

    async def _status(self) -> dict[str, Any]:
        condition = {"type": "Healthy", "status": "True", "message": '{"health":"true"}'}
        try:
            await self._check()
        except StatusError as error:
            condition = {"type": "Healthy", "status": "False", "message": error.message, "error": error.message}
        meta = {"name": STORE_COMPONENT, "creationTimestamp": None}
        return {"metadata": meta, "conditions": [condition]}
