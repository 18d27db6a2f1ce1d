"""Codecs of widgets with any structural schema."""

from __future__ import annotations

from typing import Any

import orjson

from orchtw.errors import Invalid, StatusError
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.custom.codec import CustomCodec
from orchtw.schema.custom.structural import CustomSchema
from orchtw.schema.schemas import OBJECT_META
from tests.registry.widgets import GROUP, widget

CATALOGUE = Catalogue.load(Naming.orch())
CODECS = Codecs(CATALOGUE)
TYPE = {"kind": "Widget", "apiVersion": f"{GROUP}/v1"}


def schema_of(structure: dict[str, Any]) -> CustomSchema:
    """The schema of widgets that are as `structure` says."""
    metadata = CODECS.schemas.struct(OBJECT_META)
    return CustomSchema(widget().message, orjson.dumps(structure), metadata, CATALOGUE.naming)


def codec_of(structure: dict[str, Any]) -> CustomCodec:
    """The codec of such widgets, which uses functions from the first object on."""
    found = CustomCodec(widget(), schema_of(structure), CODECS)
    found.direct_looks = 0
    return found


def spec_codec(**properties: Any) -> CustomCodec:
    """The codec of widgets whose spec has these members."""
    return codec_of({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})


def widget_of(**members: Any) -> dict[str, Any]:
    """A widget as a client sends it."""
    return {**TYPE, "metadata": {"name": "w"}, **members}


def spec_of(codec: CustomCodec, spec: Any) -> Any:
    """Return the spec of a widget after reading."""
    return codec.fit(widget_of(spec=spec), "Ignore")[0].get("spec")


def findings(codec: CustomCodec, **members: Any) -> list[str]:
    """Return the strict findings."""
    return codec.fit(widget_of(**members), "Warn")[1]


def complaints(codec: CustomCodec, spec: Any) -> list[str]:
    """All that is said of a widget with that spec, when it is read or when it is validated."""
    try:
        obj = codec.fit(widget_of(spec=spec), "Ignore")[0]
    except Invalid as refusal:
        assert refusal.details is not None
        return [f"{cause.get('field', '')}: {cause['message']}" for cause in refusal.details["causes"]]
    except StatusError as refusal:
        return [refusal.message]
    return [str(cause) for cause in codec.check(obj, None)]


def value_complaints(schema: dict[str, Any], value: Any) -> list[str]:
    """The same of the member `a`, which has that schema."""
    return complaints(spec_codec(a=schema), {"a": value})
