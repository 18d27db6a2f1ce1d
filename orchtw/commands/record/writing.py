"""Writing of exported objects to a server, where they get uids and revisions of its own."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import msgspec

from orchtw.commands.record.connection import MERGE_PATCH, Connection, Params, ServerAnswer
from orchtw.history.redaction import DATA, REDACTED
from orchtw.wire.objects import Object

CREATED, FOUND, GONE, EXISTS = 201, 200, 404, 409
_SET_BY_SERVER: Final = (
    *("uid", "resourceVersion", "creationTimestamp", "generation", "selfLink", "managedFields"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
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

    connection: Connection
    uids: dict[str, str] = msgspec.field(default_factory=dict)

    async def read(self, line: Object) -> ServerAnswer:
        """Read the object of a line as it is now."""
        return await self.connection.ask("GET", path_of(line, line["name"]))

    async def create(self, line: Object, obj: Object, manager: str = "") -> ServerAnswer:
        """Create an object; one that is there already stays as it is (409), though it may be refused as a new one."""
        answer = await self.connection.ask("POST", path_of(line), _managed(manager), self.new(obj))
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
        return await self.connection.ask("PUT", path_of(line, line["name"], subresource), _managed(manager), wanted)

    async def patch(self, line: Object, changes: Object, subresource: str = "") -> ServerAnswer:
        """Make a merge patch on an object."""
        path = path_of(line, line["name"], subresource)
        return await self.connection.ask("PATCH", path, (), changes, MERGE_PATCH)

    async def delete(self, line: Object) -> ServerAnswer:
        """Delete an object, in the background."""
        return await self.connection.ask("DELETE", path_of(line, line["name"]))

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
        made = {**obj, "metadata": metadata}
        return _with_stand_ins(made) if obj.get("kind") == "Secret" else made

    def _note(self, obj: Object, answer: ServerAnswer) -> None:
        """Note the uid that an object has here."""
        there = answer.value.get("metadata") if isinstance(answer.value, dict) else None
        if answer.code in (CREATED, FOUND) and there:
            self.uids[obj["metadata"].get("uid", "")] = there.get("uid", "")


def _with_stand_ins(secret: Object) -> Object:
    """Return a Secret whose redacted data are written as text, and without annotations that were redacted."""
    made, data = dict(secret), secret.get(DATA[0])
    if isinstance(data, dict):
        made[DATA[0]] = {name: value for name, value in data.items() if value != REDACTED}
        made[DATA[1]] = {name: value for name, value in data.items() if value == REDACTED}
    if annotations := secret["metadata"].get("annotations"):
        kept = {name: value for name, value in annotations.items() if value != REDACTED}
        made["metadata"] = {**secret["metadata"], "annotations": kept}
    return made


def _managed(manager: str) -> Params:
    return (("fieldManager", manager),) if manager else ()

