"""ComponentStatus, deprecated and never stored: the health of the store as an object (reference KIND-26)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from orchtw.errors import NotFound, StatusError
from orchtw.request import Request, Response
from orchtw.responses.accept import Acceptance
from orchtw.responses.representation import Representations
from orchtw.rules.negotiation import check_transform
from orchtw.rules.options import include_object
from orchtw.rules.warnings import deprecation
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.tables.cells_core import component_status
from orchtw.schema.tables.convertor import TableLayout
from orchtw.schema.tables.partial_object_metadata import partial_metadata, partial_metadata_list

STORE_COMPONENT = "etcd-0"
"""Name under which clients know the store, whatever it is."""


class ComponentStatuses:
    """Handlers of get and list; `check` raises when the store is not well."""

    def __init__(
        self,
        codecs: Codecs,
        acceptance: Acceptance,
        representations: Representations,
        check: Callable[[], Awaitable[None]],
    ) -> None:
        catalogue = codecs.catalogue
        resource = catalogue.find("", "v1", "componentstatuses")
        assert resource is not None
        self._codec = codecs.kind("v1", "ComponentStatus")
        self._deprecation = deprecation(resource, catalogue.naming.release)
        self._layout = TableLayout(resource.columns, component_status, catalogue.naming)
        self._acceptance = acceptance
        self._representations = representations
        self._check = check

    async def get(self, request: Request) -> Response:
        """Return one component: 200. Raises NotFound (404)."""
        assert request.info is not None
        request.warnings.append(self._deprecation)
        if request.info.name != STORE_COMPONENT:
            raise NotFound.of("componentstatuses", "", request.info.name)
        accept = self._acceptance.of(request, request.info)
        check_transform(accept, "ComponentStatus", is_list=False)
        obj = self._codec.normalise(await self._status())
        if accept.transform == "Table":
            obj = self._table([obj], accept.transform_version, request)
        elif accept.transform:
            obj = partial_metadata(obj, accept.transform_version)
        return self._representations.obj(obj, accept)

    async def list(self, request: Request) -> Response:
        """Return all components: 200."""
        assert request.info is not None
        request.warnings.append(self._deprecation)
        accept = self._acceptance.of(request, request.info)
        check_transform(accept, "ComponentStatusList", is_list=True)
        items = [await self._status()]
        found: dict[str, Any] = {"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": items}
        if accept.transform == "Table":
            found = self._table([self._codec.normalise(item) for item in items], accept.transform_version, request)
        elif accept.transform:
            found = partial_metadata_list({}, items, accept.transform_version)
        return self._representations.obj(found, accept)

    def _table(self, components: Sequence[dict[str, Any]], version: str, request: Request) -> dict[str, Any]:
        """Return the components as a Table; they have no age, so the time does not matter."""
        include = include_object(request.params)
        rows = [self._layout.row(component, 0.0, include=include, version=version) for component in components]
        return self._layout.table({}, rows, version=version)

    async def _status(self) -> dict[str, Any]:
        condition = {"type": "Healthy", "status": "True", "message": '{"health":"true"}'}
        try:
            await self._check()
        except StatusError as error:
            condition = {"type": "Healthy", "status": "False", "message": error.message, "error": error.message}
        meta = {"name": STORE_COMPONENT, "creationTimestamp": None}
        return {"metadata": meta, "conditions": [condition]}
