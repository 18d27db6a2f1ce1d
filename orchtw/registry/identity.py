"""Identity of a written object against its request: name, namespace, UID, version (reference ERR-16)."""

from __future__ import annotations

from orchtw.errors import BadRequest, Cause, Conflict, Invalid
from orchtw.registry.write import Write
from orchtw.rules.resource_version import parse_revision
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object


def own_metadata(obj: Object) -> Object:
    """Return the metadata of an object, added if it has none."""
    meta: Object = obj.setdefault("metadata", {})
    return meta


def match_name(write: Write, meta: Object) -> None:
    """Give the object the request's name; it may not have another. Raises BadRequest (400)."""
    if not meta.get("name"):
        if not write.applies:
            raise BadRequest(
                f"the name of the object ({write.name} based on URL) was undeterminable: name must be provided"
            )
    elif meta["name"] != write.name:
        text = f"the name of the object ({meta['name']}) does not match the name on the URL ({write.name})"
        raise BadRequest(text)
    meta["name"] = write.name


def match_namespace(write: Write, meta: Object) -> None:
    """Give a new object the request's namespace; it may not have another. Raises BadRequest (400).

    Objects of the whole cluster have none, whatever the client has sent (reference OBJ-2).
    """
    if not write.target.resource.namespaced:
        meta.pop("namespace", None)
        return
    check_namespace({"metadata": meta}, write.namespace)
    meta["namespace"] = write.namespace


def check_namespace(obj: Object, namespace: str) -> None:
    """Check that an object is of the request's namespace. Raises BadRequest (400)."""
    if obj["metadata"].get("namespace", "") not in ("", namespace):
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")


def match_place(write: Write, meta: Object) -> None:
    """Give an update's object the request's name and namespace; it may not have others. Raises BadRequest (400)."""
    match_name(write, meta)
    if not write.target.resource.namespaced:
        meta.pop("namespace", None)
        return
    if meta.get("namespace", "") not in ("", write.namespace):
        raise BadRequest(
            f"the namespace of the object ({meta['namespace']}) does not match "
            f"the namespace on the request ({write.namespace})"
        )
    meta["namespace"] = write.namespace


def match_shown(write: Write, shown: Object, wanted: Object) -> None:
    """Refuse a sub-resource that admission has made another object's than the `wanted` one.

    Raises BadRequest (400) and Conflict (409).
    """
    found = shown.get("metadata")
    meta: Object = {**found} if type(found) is dict else {}
    match_place(write, meta)
    if meta.get("uid") and meta["uid"] != wanted["metadata"].get("uid", meta["uid"]):
        raise other_uid(write, meta["uid"], wanted["metadata"]["uid"])


def match_live(write: Write, new: Object, old: Object, live: Entry) -> str:
    """Check an update's metadata against the live object's; returns the version that was asked for, or "".

    Raises BadRequest (400), Conflict (409, another UID or version) and Invalid (422, the kind asks for a version).
    """
    match_place(write, new)
    if new.get("uid") and new["uid"] != old["uid"]:
        raise other_uid(write, new["uid"], old["uid"])
    return _match_version(write, new.get("resourceVersion", ""), live)


def other_uid(write: Write, asked: str, present: str) -> Conflict:
    """Return the error (409) for a UID that the object does not have."""
    resource = write.target.resource
    why = f"Precondition failed: UID in precondition: {asked}, UID in object meta: {present}"
    return Conflict.of(resource.plural, resource.group, write.name, why)


def modified(write: Write) -> Conflict:
    """Return the error (409) for a write that comes too late."""
    resource = write.target.resource
    return Conflict.modified(resource.plural, resource.group, write.name)


def _match_version(write: Write, version: str, live: Entry) -> str:
    resource = write.target.resource
    try:
        revision = parse_revision(version) if version else 0
    except ValueError as error:
        raise BadRequest(str(error)) from None
    if not revision:  # "0" says as little as none
        if not (write.from_live or write.target.strategy.traits.unconditional_update):
            cause = Cause("FieldValueInvalid", "Invalid value: 0x0: must be specified for an update",
                          "metadata.resourceVersion")
            raise Invalid.of(resource.plural, resource.group, write.name, [cause])
        return ""
    if revision != live.revision:
        raise modified(write)
    return version
