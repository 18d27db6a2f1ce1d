"""Structural schemas and definitions from short parts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object

Schema = dict[str, Any]

PRESERVE = "x-orch-preserve-unknown-fields"
EMBEDDED = "x-orch-embedded-resource"
INT_OR_STRING = "x-orch-int-or-string"
LIST_TYPE = "x-orch-list-type"
LIST_KEYS = "x-orch-list-map-keys"
MAP_TYPE = "x-orch-map-type"
RULES = "x-orch-validations"

_SIGN, _AMOUNT = r"(\+|-)?", r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"

QUANTITY = rf"^{_SIGN}{_AMOUNT}(([KMGTPE]i)|[numkMGTPE]|([eE]{_SIGN}{_AMOUNT}))?$"
DURATION = r"^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"
DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
HOST = r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
KIND = r"^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"

_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def text(**more: Any) -> Schema:
    """Return the schema of a string."""
    return {"type": "string", **more}


def choice(*values: str, **more: Any) -> Schema:
    """One of some strings."""
    return {"type": "string", "enum": list(values), **more}


def moment() -> Schema:
    """A date and time."""
    return {"type": "string", "format": "date-time"}


def whole(minimum: int | None = None, maximum: int | None = None, **more: Any) -> Schema:
    """Return the schema of a 32-bit integer."""
    bounds = {"minimum": minimum, "maximum": maximum}
    return {"type": "integer", "format": "int32", **{k: v for k, v in bounds.items() if v is not None}, **more}


def big(**more: Any) -> Schema:
    """Return the schema of a 64-bit integer."""
    return {"type": "integer", "format": "int64", **more}


def flag(**more: Any) -> Schema:
    """Return the schema of a boolean."""
    return {"type": "boolean", **more}


def number_or_name() -> Schema:
    """A port by its number or its name, and the like."""
    return {"anyOf": [{"type": "integer"}, {"type": "string"}], INT_OR_STRING: True}


def quantity() -> Schema:
    """A number, or a string with a unit."""
    return {**number_or_name(), "pattern": QUANTITY}


def duration(**more: Any) -> Schema:
    """A time span such as "30s"."""
    return {"type": "string", "pattern": DURATION, **more}


def listed(items: Schema, **more: Any) -> Schema:
    """A list that is replaced as a whole."""
    return {"type": "array", "items": items, **more}


def keyed(items: Schema, *keys: str, **more: Any) -> Schema:
    """A list whose elements are told apart by some of their members."""
    return {"type": "array", "items": items, LIST_TYPE: "map", LIST_KEYS: list(keys), **more}


def set_of(items: Schema, **more: Any) -> Schema:
    """A list in which nothing is twice."""
    return {"type": "array", "items": items, LIST_TYPE: "set", **more}


def mapped(values: Schema | None = None, **more: Any) -> Schema:
    """Names and values, strings unless said otherwise."""
    return {"type": "object", "additionalProperties": values or text(), **more}


def anything(**more: Any) -> Schema:
    """An object of which nothing is known."""
    return {"type": "object", PRESERVE: True, **more}


def part(*needed: str, more: Mapping[str, Any] | None = None, **members: Schema) -> Schema:
    """An object with these members, some of which are required; a member's name may end in "_"."""
    named = {name.rstrip("_"): member for name, member in members.items()}
    return {"type": "object", **({"required": list(needed)} if needed else {}), "properties": named, **(more or {})}


def one_of(*names: str) -> Schema:
    """The condition that exactly one of these members is there."""
    return {"oneOf": [{"required": [name]} for name in names]}


def column(name: str, path: str, type_: str = "string", **more: Any) -> Object:
    """Return a printer column."""
    return {"name": name, "type": type_, "jsonPath": path, **more}


AGE = column("Age", ".metadata.creationTimestamp", "date")


def ready_column(condition: str = "Ready") -> Object:
    """The status of a condition."""
    return column(condition, f'.status.conditions[?(@.type=="{condition}")].status')


def version(name: str, spec: Schema, status: Schema | None = None, **more: Any) -> Object:
    """A version that is served; with a status, that is a sub-resource. `more` goes into the version as it is."""
    scale = more.pop("scale", None)
    subresources = {**({"status": {}} if status else {}), **({"scale": scale} if scale else {})}
    about = {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}}
    parts = {**about, "spec": described(spec, "spec"), **({"status": described(status, "status")} if status else {})}
    description = more.pop("description", "")
    root: Schema = {"type": "object", "description": description, "required": ["spec"], "properties": parts}
    return {
        "name": name, "served": True, "storage": False, **({"subresources": subresources} if subresources else {}),
        "schema": {"openAPIV3Schema": root}, **more,
    }  # fmt: skip


def definition(
    group: str, kind: str, versions: Iterable[Object], *, plural: str = "", short: str = "", category: str = "",
    cluster: bool = False, **spec: Any,
) -> Object:  # fmt: skip
    """A definition that stores the last of its versions."""
    plural = plural or f"{kind.lower()}s"
    found = list(versions)
    found[-1] = {**found[-1], "storage": True}
    names: Object = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    if short:
        names["shortNames"] = short.split()
    if category:
        names["categories"] = category.split()
    scope = "Cluster" if cluster else "Namespaced"
    return {
        "apiVersion": "apiextensions.orch.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": found, **spec},
    }


def described(schema: Schema, name: str = "") -> Schema:
    """The same with a description at each member, which is where most bytes of a real definition are."""
    own = {"description": _about(name, schema)} if name and not schema.get("description") else {}
    found = {**schema, **own}
    if "properties" in schema:
        found["properties"] = {key: described(member, key) for key, member in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found[key] = described(schema[key])
    return found


def node_count(schema: Any) -> int:
    """Count the schemas in a schema, itself included."""
    below = list((schema.get("properties") or {}).values())
    below += [schema[key] for key in ("items", "additionalProperties", "not") if isinstance(schema.get(key), dict)]
    for key in ("allOf", "anyOf", "oneOf"):
        below += schema.get(key) or ()
    return 1 + sum(map(node_count, below))


def definition_nodes(obj: Object) -> int:
    """Count the schemas in all versions of a definition."""
    return sum(node_count(each["schema"]["openAPIV3Schema"]) for each in obj["spec"]["versions"])


def in_vocabulary(obj: Object, naming: Naming) -> Object:
    """A copy of a definition or object, with the names that a server of this vocabulary knows."""
    written = json.dumps(obj).replace('"x-orch-', f'"{naming.extension_prefix}')
    written = re.sub(r'(?<=[".])[a-z.]+\.orch\.io(?=[/"])', lambda match: naming.group(match[0]), written)
    copy: Object = json.loads(written)
    notes = copy["metadata"].get("annotations")
    if notes:
        copy["metadata"]["annotations"] = {naming.translate(key): value for key, value in notes.items()}
    return copy


_ROLES = {
    "object": "Groups the settings for {}; what is left out keeps its usual value.",
    "array": "Lists the {} in the order in which they are looked at.",
    "string": "Names the {}; an empty text means that there is none.",
    "integer": "Counts the {}; what is left out is decided by the operator.",
    "boolean": "Turns {} on or off for this object and for all that it makes.",
    "number": "Measures the {}.",
}


def _about(name: str, schema: Schema) -> str:
    words = " ".join(_WORD.findall(name)).lower() or name
    return _ROLES.get(schema.get("type", ""), "Holds the {} as a number or a text.").format(words)
