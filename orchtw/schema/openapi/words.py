"""Descriptions: the text of a type or field in the protos, extended by facts from its schema.

The schema adds the allowed values and the default where the text does not mention them, feature gates, merge
behaviour and the deprecation of a kind. Without a text, the description is made of the words of the name.
"""

from __future__ import annotations

import re

import orjson

from orchtw.schema.catalogue import ResourceType, joined
from orchtw.schema.nodes import MISSING, EnumSchema, Field, StructSchema
from orchtw.schema.openapi.definition_names import short_name, title

# Clients recognise these by their beginnings, and only by those (reference OPENAPI-20).
API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. "
    "It is the group and version of the kind, such as apps/v1, or only the version in the core group."
)
KIND = (
    "Kind is a string value representing the REST resource this object represents. "
    "Together with apiVersion it determines the schema of the object. Immutable."
)
_OF_OBJECTS, _OF_LISTS = "Standard object's metadata.", "Standard list metadata."
METADATA = f"{_OF_OBJECTS} Its name, namespace, labels, and the data that the server maintains."
_STANDARD = {
    "orch.io.apimachinery.pkg.apis.meta.v1.ObjectMeta": _OF_OBJECTS,
    "orch.io.apimachinery.pkg.apis.meta.v1.ListMeta": _OF_LISTS,
}

# A brand, an acronym with its plural ("IPs", "CIDR"), a capitalised or plain word, or digits that stand alone.
_WORD = re.compile(r"[sS][eE]Linux|[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*|\d+")
_TELLS_DEFAULT = ("Default:", "(the default)")
_TELLS_GATE = "feature gate"
_GIVES_EXAMPLES = "such as"


def phrase(name: str) -> str:
    """Return the words of a camel-case name: "minReadySeconds" → "min ready seconds", "podIPs" → "pod IPs"."""
    words = (word if _is_acronym(word) else word.lower() for word in _WORD.findall(name))
    return " ".join(words) or name


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.removesuffix("s").isupper()


def of_resource(resource: ResourceType, text: str) -> str:
    """Return the description of a kind that is served as a resource; `text` is that of the protos, or ""."""
    scope = "namespaced" if resource.namespaced else "cluster-scoped"
    text = text or f"{resource.kind}: a {scope} object, served as {resource.plural} in {resource.api_version}."
    if resource.deprecated is None:
        return text
    text += f" Deprecated since {resource.deprecated}"
    if resource.replacement is not None:
        new = resource.replacement
        text += f", use {new.kind} of {joined(new.group, new.version)}"
    return text + (f"; no longer served from {resource.removed}." if resource.removed else ".")


def of_struct(schema: StructSchema, text: str) -> str:
    """Return the description of any other type; `text` is that of the protos, or ""."""
    text = text or f"{title(phrase(short_name(schema.name)))}."
    if schema.union:
        text += " At most one member is set: the one that the discriminator names."
    return text + (" It is replaced as a whole, never merged." if schema.atomic else "")


def of_field(field: Field, text: str) -> str:
    """Return the description of a field: `text`, then its default, allowed values and feature gate."""
    parts = [text or f"{title(phrase(field.name))}."]
    if isinstance(field.node, StructSchema) and (standard := _STANDARD.get(field.node.name)):
        parts.insert(0, standard)
    if field.default is not MISSING and not any(sign in text for sign in _TELLS_DEFAULT):
        if shown := _shown(field.default):
            parts.append(f"Default: {shown}.")
    if field.enum is not None and (choice := _choice(field.enum, text)):
        parts.append(choice)
    if field.feature_gate and _TELLS_GATE not in text:
        parts.append(f"Needs feature gate {field.feature_gate}.")
    return " ".join(parts)


def _tells(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None if value else "empty" in text.lower()


def _choice(enum: EnumSchema, text: str) -> str:
    """Return the values, or "" where the text names them all or, for an open set, some as examples."""
    if all(_tells(text, value) for value in enum.values) or (not enum.published and _GIVES_EXAMPLES in text):
        return ""
    lead = "One of" if enum.published else "Known values"
    return f"{lead}: {', '.join(value or 'the empty string' for value in enum.values)}."


def _shown(value: object) -> str:
    """Return a default in words; "" for one that only the schema's own member shows."""
    if isinstance(value, str):
        return value or "the empty string"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return orjson.dumps(value).decode() if isinstance(value, (int, float)) else ""
