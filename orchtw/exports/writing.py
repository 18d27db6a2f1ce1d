"""Writing of exported objects to a server, where they get uids and revisions of its own."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import msgspec

from orchtw.exports.client import MERGE_PATCH, Params, ServerAnswer, ServerClient
from orchtw.history.redaction import DATA, REDACTED
from orchtw.wire.objects import Object

CREATED, FOUND, GONE, EXISTS = 201, 200, 404, 409
_SET_BY_SERVER: Final = (
    *("uid", "resourceVersion", "creationTimestamp", "generation", "selfLink", "managedFields"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
SECRET: Final = "Secret"
WITHHELD: Final = "its data are not in the export, as the record of a server redacts them"
"""Complaint about a Secret that is left out."""

_OWN_STATUS: Final = frozenset({"namespaces", "customresourcedefinitions", "apiservices"})
"""Plurals of resources whose status the server's own controllers write."""


def path_of(line: Object, name: str = "", subresource: str = "") -> str:
    """Return the API path of a line's collection, or of an object in it."""
    group, version = line["group"], line["version"]
    parts = ["apis", group, version] if group else ["api", version]
    if line["namespace"]:
        parts += ["namespaces", line["namespace"]]
    parts += [part for part in (line["resource"], name, subresource) if part]
    return "/" + "/".join(quote(part, safe="") for part in parts)


class ExportWriter(msgspec.Struct, eq=False):
    """Writer of objects. `uids` are those that objects have here, by the ones that they had."""

    client: ServerClient
    uids: dict[str, str] = msgspec.field(default_factory=dict)

    async def read(self, line: Object) -> ServerAnswer:
        """Read the object of a line as it is now."""
        return await self.client.ask("GET", path_of(line, line["name"]))

    async def find(self, line: Object, obj: Object) -> bool:
        """Report whether the object of a line is there, and note its uid."""
        there = await self.read(line)
        self._note(obj, there)
        return there.code == FOUND

    async def create(self, line: Object, obj: Object, manager: str = "") -> ServerAnswer:
        """Create an object; one that is already present stays as it is (409), or is refused as a new one would be."""
        answer = await self.client.ask("POST", path_of(line), _managed(manager), self.new(obj))
        self._note(obj, answer)
        if answer.code != CREATED and (there := await self.read(line)).code == FOUND:
            self._note(obj, there)
            return msgspec.structs.replace(answer, code=EXISTS)
        return answer

    async def update(self, line: Object, obj: Object, manager: str = "", subresource: str = "") -> ServerAnswer:
        """Replace an object, whatever it is now; one that is not there is created."""
        found = await self.read(line)
        if found.code == GONE:
            return await self.create(line, obj, manager)
        if found.code != FOUND:
            return found
        self._note(obj, found)
        wanted = self.new(obj)
        wanted["metadata"]["resourceVersion"] = found.value["metadata"]["resourceVersion"]
        return await self.client.ask("PUT", path_of(line, line["name"], subresource), _managed(manager), wanted)

    async def patch(self, line: Object, changes: Object, subresource: str = "") -> ServerAnswer:
        """Make a merge patch on an object."""
        path = path_of(line, line["name"], subresource)
        return await self.client.ask("PATCH", path, (), changes, MERGE_PATCH)

    async def delete(self, line: Object) -> ServerAnswer:
        """Delete an object, in the background."""
        return await self.client.ask("DELETE", path_of(line, line["name"]))

    async def set_status(self, line: Object, status: Any) -> ServerAnswer | None:
        """Write the status of an object that was created without one; None: there is nothing to do."""
        if not status or line["resource"] in _OWN_STATUS:
            return None
        answer = await self.patch(line, {"status": status}, "status")
        return None if answer.code == GONE else answer  # the kind has no such sub-resource

    def new(self, obj: Object) -> Object:
        """Return an object as it can be written: without the fields that the server sets, owned by objects here.

        Owners that are not known here are left out: the garbage collector would delete the object.
        """
        metadata = {name: value for name, value in obj["metadata"].items() if name not in _SET_BY_SERVER}
        owners = [
            {**each, "uid": self.uids[each["uid"]]}
            for each in metadata.pop("ownerReferences", None) or ()
            if each.get("uid") in self.uids
        ]
        if owners:
            metadata["ownerReferences"] = owners
        return {**obj, "metadata": _shown(metadata) if obj.get("kind") == SECRET else metadata}

    def _note(self, obj: Object, answer: ServerAnswer) -> None:
        """Note the uid that an object has here."""
        there = answer.value.get("metadata") if isinstance(answer.value, dict) else None
        if answer.code in (CREATED, FOUND) and there:
            self.uids[obj["metadata"].get("uid", "")] = there.get("uid", "")


def is_withheld(obj: Object) -> bool:
    """Report whether an object is a Secret whose data the server's record does not have: it cannot be written."""
    if obj.get("kind") != SECRET:
        return False
    parts = (obj.get(name) for name in DATA)
    return any(
        part == REDACTED or (isinstance(part, dict) and REDACTED in part.values()) for part in parts if part
    )


def _shown(metadata: Object) -> Object:
    """Return the metadata of a Secret without annotations that were redacted."""
    if not (annotations := metadata.get("annotations")):
        return metadata
    return {**metadata, "annotations": {name: value for name, value in annotations.items() if value != REDACTED}}


def _managed(manager: str) -> Params:
    return (("fieldManager", manager),) if manager else ()

