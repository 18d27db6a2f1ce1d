"""Descriptions: a sentence or two on a type or a field, made from what its schema says.

They tell what a reader cannot see in the schema's other members: the words of the name, units, the allowed values
that are not enforced as an enum, and what an absent value means.
"""

from __future__ import annotations

import re

import orjson

from orchtw.schema.catalogue import ResourceType, joined
from orchtw.schema.nodes import MISSING, Field, Form, ListSchema, MapSchema, Scalar, StructSchema
from orchtw.schema.openapi.names import short_name, title

API_VERSION = "Group and version of the kind, such as apps/v1, or only the version in the core group."
KIND = "The kind of the object, which together with apiVersion says what its other fields mean. It never changes."

# A brand, an acronym with its plural ("IPs", "CIDR"), a capitalised or plain word, or digits that stand alone.
_WORD = re.compile(r"[sS][eE]Linux|[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*|\d+")
_LONG = {
    "min": "minimum",
    "max": "maximum",
    "fs": "file system",
    "ref": "reference",
    "refs": "references",
    "spec": "specification",
    "env": "environment",
    "var": "variable",
    "config": "configuration",
    "selinux": "SELinux",
    "args": "arguments",
    "num": "number",
    "uid": "UID",
    "uuid": "UUID",
    "ip": "IP",
    "ips": "IPs",
    "url": "URL",
    "id": "ID",
    "tcp": "TCP",
    "http": "HTTP",
    "grpc": "GRPC",
    "csi": "CSI",
    "nfs": "NFS",
    "gce": "GCE",
    "aws": "AWS",
}
# What the last word of a type's name says about it.
_PARTS = {
    "Spec": "The wanted state of {}.",
    "Status": "The observed state of {}.",
    "List": "A list of {} objects.",
    "Condition": "One observation about {}.",
}
_STATES = {
    "spec": "The wanted state.",
    "status": "The observed state; written by the system, not by those who write the specification.",
}
_WELL_KNOWN = {
    "metadata": "Name, labels and the other data that every object carries.",
    "items": "The objects of the list.",
    "name": "The name.",
    "namespace": "The namespace; empty for what belongs to none.",
    "labels": "Labels by which objects are selected.",
    "annotations": "Notes by key that tools keep with the object; selectors do not see them.",
    "resourceVersion": "The version of the object in the store. Clients compare it for equality only.",
    "uid": "The identity of the object, never used again for another one.",
    "generation": "Counts the changes of the wanted state.",
    "creationTimestamp": "When the object was created; set by the server.",
    "deletionTimestamp": "When the object goes away at the latest; set by the server on a graceful deletion.",
    "finalizers": "Who must still act before a deleted object goes away.",
    "ownerReferences": "The objects that this one depends on; it is collected when all of them are gone.",
    "managedFields": "Which manager owns which fields; kept by the server.",
    "generateName": "Prefix of a name that the server makes up when none is given.",
    "conditions": "The latest observations, one of each type.",
    "lastTransitionTime": "When the condition last changed its status.",
    "observedGeneration": "The generation that the status was computed from.",
    "reason": "A word for programs that says why.",
    "message": "A sentence for people that says why.",
    "selector": "Which objects are meant.",
    "template": "What new objects look like.",
    "replicas": "How many copies.",
    "containers": "The containers of the pod; at least one.",
    "image": "The container image.",
    "continue": "Where the next part of the list begins; empty at its end.",
    "remainingItemCount": "How many objects follow after this part of the list, if that is known.",
    "immutable": "True: the content can no longer change.",
}


def phrase(name: str) -> str:
    """The words of a camel-case name: "minReadySeconds" → "minimum ready seconds"."""
    words = (word if _is_acronym(word) else word.lower() for word in _WORD.findall(name))
    return " ".join(_LONG.get(word, word) for word in words) or name


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.removesuffix("s").isupper()


def of_resource(resource: ResourceType) -> str:
    """The description of a kind that is served as a resource."""
    scope = "in a namespace" if resource.namespaced else "of the whole cluster"
    text = f"{resource.kind}: an object {scope}, served as {resource.plural} in {resource.api_version}."
    if resource.deprecated is None:
        return text
    text += f" Deprecated since {resource.deprecated}"
    if resource.replacement is not None:
        new = resource.replacement
        text += f", use {new.kind} of {joined(new.group, new.version)}"
    return text + (f"; not served from {resource.removed} on." if resource.removed else ".")


def of_struct(schema: StructSchema) -> str:
    """The description of any other type."""
    name = short_name(schema.name)
    for suffix, sentence in _PARTS.items():
        owner = name.removesuffix(suffix)
        if owner not in ("", name):
            return sentence.format(owner)
    text = f"{title(phrase(name))}."
    if schema.union:
        text += " At most one of its members is set, the one that the discriminator names."
    return text + (" It is replaced as a whole, never merged." if schema.atomic else "")


def of_field(field: Field) -> str:
    """The description of a field: its meaning, then what its value may be."""
    parts = [_WELL_KNOWN.get(field.name) or _meaning(field)]
    if field.enum is not None and field.enum.values and not field.enum.published:
        parts.append(f"Known values: {', '.join(value or 'the empty string' for value in field.enum.values)}.")
    if field.default is not MISSING and isinstance(field.default, (str, int, float)):
        parts.append(f"Without it: {_shown(field.default)}.")
    if field.feature_gate:
        parts.append(f"Needs feature gate {field.feature_gate}.")
    return " ".join(parts)


def _meaning(field: Field) -> str:
    words = title(phrase(field.name))
    node = field.node
    if field.name in _STATES and isinstance(node, StructSchema):
        return _STATES[field.name]
    if node is Scalar.BOOL:
        return f"{words}: true or false."
    if field.name.endswith("Seconds") and field.name != "Seconds":
        return f"{words.removesuffix(' seconds')}, in seconds."
    if isinstance(node, MapSchema):
        return f"{words}, by key."
    if isinstance(node, ListSchema):
        told = f"; elements are told apart by {', '.join(node.map_keys)}" if node.map_keys else ""
        return f"{words}{told}."
    return f"{words}, a time of day and date." if node in (Form.TIME, Form.MICRO_TIME) else f"{words}."


def _shown(value: object) -> str:
    return value or "the empty string" if isinstance(value, str) else orjson.dumps(value).decode()
