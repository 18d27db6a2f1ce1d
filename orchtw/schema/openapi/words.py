"""Descriptions: what the protos say about a type or a field, and behind it what its schema says.

The schema adds the allowed values and the default where the text does not tell them, feature gates, how the value
merges, and the life of a kind. What has no text is described by the words of its name.
"""

from __future__ import annotations

import re

import orjson

from orchtw.schema.catalogue import ResourceType, joined
from orchtw.schema.nodes import MISSING, EnumSchema, Field, StructSchema
from orchtw.schema.openapi.definition_names import short_name, title

# Clients look for how these begin, and for no more of them (reference OPENAPI-20).
API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. "
    "It is the group and version of the kind, such as apps/v1, or only the version in the core group."
)
KIND = (
    "Kind is a string value representing the REST resource this object represents. "
    "Together with apiVersion it says what the other fields mean. It never changes."
)
_OF_OBJECTS, _OF_LISTS = "Standard object's metadata.", "Standard list metadata."
METADATA = f"{_OF_OBJECTS} Its name, its labels, and what the server keeps about it."
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
    """The words of a camel-case name: "minReadySeconds" → "min ready seconds", "podIPs" → "pod IPs"."""
    words = (word if _is_acronym(word) else word.lower() for word in _WORD.findall(name))
    return " ".join(words) or name


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.removesuffix("s").isupper()


def of_resource(resource: ResourceType, text: str) -> str:
    """The description of a kind that is served as a resource, of which `text` (or "") is said."""
    scope = "in a namespace" if resource.namespaced else "of the whole cluster"
    text = text or f"{resource.kind}: an object {scope}, served as {resource.plural} in {resource.api_version}."
    if resource.deprecated is None:
        return text
    text += f" Deprecated since {resource.deprecated}"
    if resource.replacement is not None:
        new = resource.replacement
        text += f", use {new.kind} of {joined(new.group, new.version)}"
    return text + (f"; not served from {resource.removed} on." if resource.removed else ".")


def of_struct(schema: StructSchema, text: str) -> str:
    """The description of any other type, of which `text` (or "") is said."""
    text = text or f"{title(phrase(short_name(schema.name)))}."
    if schema.union:
        text += " At most one of its members is set, the one that the discriminator names."
    return text + (" It is replaced as a whole, never merged." if schema.atomic else "")


def of_field(field: Field, text: str) -> str:
    """The description of a field, of which `text` (or "") is said: its meaning, then what its value may be."""
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
    """The values, or "" where the text names them all or, of an open set, some as examples."""
    if all(_tells(text, value) for value in enum.values) or (not enum.published and _GIVES_EXAMPLES in text):
        return ""
    lead = "One of" if enum.published else "Known values"
    return f"{lead}: {', '.join(value or 'the empty string' for value in enum.values)}."


def _shown(value: object) -> str:
    """A default in words; "" for what is better seen in the schema's own member."""
    if isinstance(value, str):
        return value or "the empty string"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return orjson.dumps(value).decode() if isinstance(value, (int, float)) else ""
