"""OpenAPI v2 documents of other servers: reduced to their API groups, and merged in (reference AGG-13).

Their documents are checked member by member: unknown members are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec
import orjson

from orchtw.schema.openapi.documents import METHODS, Document, Pieces
from orchtw.wire.json_values import loads

_REF: Final = "#/definitions/"
_PARAMETER_REF: Final = "#/parameters/"
_TEXTS: Final = ("$ref", "format", "description", "type")
_PLAIN_PARAMETER: Final = ("name", "in", "description", "type", "format")
_PLACES: Final = frozenset({"query", "header", "path", "formData"})
MOST_DEFINITIONS: Final = 20_000


class Unusable(ValueError):
    """Error about a malformed document."""


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """Excerpt of another server's document: the `part` of the API that it serves, such as `apis/example.com/v1`."""

    part: str
    paths: Mapping[str, Document]
    definitions: Mapping[str, Document]


def fitted(raw: bytes, part: str) -> Foreign:
    """Return the paths of a part of the API, and the definitions that these need.

    Raises Unusable for a malformed document.
    """
    try:
        document = loads(raw)
        reader = _Reader(_object(document))
        paths = {path: reader.path(item) for path, item in reader.below(f"/{part}")}
        return Foreign(part=part, paths=paths, definitions=reader.closure())
    except (orjson.JSONDecodeError, RecursionError) as problem:
        raise Unusable(f"not valid JSON: {problem}") from None


def beside(other: Foreign, taken: Collection[str], known: Mapping[str, Document], kind_extension: str) -> Pieces:
    """Return another server's share of the document, without clashes with the names of definitions that are `taken`.

    A definition whose name is taken gets a new one, unless a `known` one of that name is equal apart from the kinds
    that it stands for: `kind_extension` is the extension that names these.
    """
    same, names = set(), {}
    for name, definition in other.definitions.items():
        if name in taken:
            if name in known and _without(known[name], kind_extension) == _without(definition, kind_extension):
                same.add(name)
            else:
                names[_REF + name] = _REF + _free_name(name, taken, other.definitions)
    definitions = {
        names.get(_REF + name, _REF + name).removeprefix(_REF): _renamed(definition, names)
        for name, definition in other.definitions.items()
        if name not in same
    }
    paths = orjson.dumps(_renamed(dict(other.paths), names))
    return Pieces(paths[1:-1], orjson.dumps(definitions)[1:-1], frozenset(definitions))


def _free_name(name: str, *taken: Collection[str]) -> str:
    number = 2
    while any(f"{name}_v{number}" in each for each in taken):
        number += 1
    return f"{name}_v{number}"


def _without(definition: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return {name: value for name, value in definition.items() if name != key}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            key: names.get(each, each) if key == "$ref" and isinstance(each, str) else _renamed(each, names)
            for key, each in value.items()
        }
    return [_renamed(each, names) for each in value] if isinstance(value, list) else value


class _Reader:
    """Reads one document, and collects the definitions that are referred to."""

    def __init__(self, document: Document) -> None:
        self._paths = _object(document.get("paths"))
        self._definitions = _object(document.get("definitions"))
        self._parameters = _object(document.get("parameters"))
        self._wanted: list[str] = []
        self._seen: set[str] = set()

    def below(self, prefix: str) -> Iterator[tuple[str, Document]]:
        for path, item in self._paths.items():
            if path.rstrip("/") == prefix or path.startswith(f"{prefix}/"):
                yield path, _object(item)

    def closure(self) -> dict[str, Document]:
        """Return the definitions that have been referred to, and those that these refer to."""
        found: dict[str, Document] = {}
        while self._wanted:
            name = self._wanted.pop()
            found[name] = self._schema(_object(self._definitions.get(name)))
            if len(found) > MOST_DEFINITIONS:
                raise Unusable(f"more than {MOST_DEFINITIONS} definitions")
        return dict(sorted(found.items()))

    def path(self, item: Document) -> Document:
        found: Document = {method: self._operation(_object(item[method])) for method in METHODS if method in item}
        if parameters := self._listed(item.get("parameters")):
            found["parameters"] = parameters
        return found

    def _operation(self, operation: Document) -> Document:
        found: Document = {
            "description": _text(operation.get("description")),
            "consumes": _texts(operation.get("consumes")),
            "produces": _texts(operation.get("produces")),
            "schemes": _texts(operation.get("schemes")),
            "tags": _texts(operation.get("tags")),
            "operationId": _text(operation.get("operationId")),
        }
        if parameters := self._listed(operation.get("parameters")):
            found["parameters"] = parameters
        responses = _object(operation.get("responses"))
        found["responses"] = {code: self._response(_object(each)) for code, each in responses.items()}
        return found | _extensions(operation)

    def _response(self, response: Document) -> Document:
        found: Document = {"description": _text(response.get("description"))}
        return found | {"schema": self._schema(_object(response["schema"]))} if "schema" in response else found

    def _listed(self, parameters: Any) -> list[Document]:
        if not isinstance(parameters, list):
            return []
        return [read for each in parameters if (read := self._parameter(_object(each))) is not None]

    def _parameter(self, parameter: Document) -> Document | None:
        reference = parameter.get("$ref")
        if isinstance(reference, str) and reference.startswith(_PARAMETER_REF):
            parameter = _object(self._parameters.get(reference.removeprefix(_PARAMETER_REF)))
        flags = {key: True for key in ("required", "uniqueItems") if parameter.get(key) is True}
        texts = {key: parameter[key] for key in _PLAIN_PARAMETER if isinstance(parameter.get(key), str)}
        if texts.get("in") == "body":
            kept: Document = {key: texts[key] for key in ("name", "in", "description") if key in texts}
            required = {key: value for key, value in flags.items() if key == "required"}
            return {**kept, **required, "schema": self._schema(_object(parameter.get("schema")))}
        return {**texts, **flags} if texts.get("in") in _PLACES and "name" in texts else None

    def _schema(self, schema: Document) -> Document:
        found: Document = {key: schema[key] for key in _TEXTS if isinstance(schema.get(key), str)}
        if "$ref" in found:
            self._want(found)
        if required := _texts(schema.get("required")):
            found["required"] = required
        found |= {key: schema[key] for key in ("default",) if key in schema}
        if isinstance(schema.get("enum"), list):
            found["enum"] = schema["enum"]
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                found[key] = self._schema(schema[key])
        if isinstance(schema.get("properties"), dict):
            found["properties"] = {name: self._schema(_object(each)) for name, each in schema["properties"].items()}
        return found | _extensions(schema)

    def _want(self, schema: Document) -> None:
        """Record a reference's definition; drop a reference to a missing one."""
        name = schema["$ref"].removeprefix(_REF)
        if not isinstance(self._definitions.get(name), dict) or not schema["$ref"].startswith(_REF):
            del schema["$ref"]
        elif name not in self._seen:
            self._seen.add(name)
            self._wanted.append(name)


def _object(value: Any) -> Document:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unusable("a part of the document is not an object")
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _extensions(document: Document) -> Document:
    return {key: value for key, value in document.items() if key.startswith("x-")}
