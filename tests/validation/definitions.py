"""A valid definition of custom resources, and changes to it."""

from __future__ import annotations

from typing import Any

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.wire.objects import Object
from tests.validation.examples import (
    GONE,
    NONE,
    Changes,
    Refused,
)

CODECS = Codecs(Catalogue.load(Naming.orch()))
WORDS = (
    "", "a", "object", "array", "string", "integer", "number", "null", "map", "set", "atomic", "granular", "metadata",
    "kind", "labels", "(?=", "^a$", "v1", "None", "Webhook", "\x00", "k" * 130,
)  # fmt: skip
DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"
SCHEMA = "spec.versions[0].schema.openAPIV3Schema"
STATUS = "spec.versions[0].subresources.status"
SCALE = "spec.versions[0].subresources.scale"
COLUMN = "spec.versions[0].additionalPrinterColumns[0]"
WARNING = "spec.versions[0].deprecationWarning"
CONVERSION = "spec.conversion"
APPROVED = "metadata.annotations[api-approved.orch.io]"
DEFINITION: Object = {
    "apiVersion": "apiextensions.orch.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
            {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    },
}
GOOD_SCALE = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
GOOD_COLUMN = {"name": "A", "type": "string", "jsonPath": ".a"}
EITHER = [{"type": "integer"}, {"type": "string"}]
KEYED = {"x-orch-list-type": "map", "x-orch-list-map-keys": ["k"]}
PARTS = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}
EMBEDDED = {"type": "object", "x-orch-embedded-resource": True}
OPEN = {"x-orch-preserve-unknown-fields": True}
ESTABLISHED = {"type": "Established", "status": "True"}


def root(**schema: Any) -> Changes:
    """A change that makes this the object's schema."""
    return {SCHEMA: {"type": "object", **schema}}


def member(schema: Any) -> Changes:
    """A change that gives the object a member `a` with this schema."""
    return root(properties={"a": schema})


def elements(items: Any, **extensions: Any) -> Changes:
    """The same with a list of these."""
    return member({"type": "array", "items": items, **extensions})


def refused(schema: Any, place: str, good: Any = None, detail: str = "") -> Refused:
    """A member with this schema is refused at `place` in it, one with the good schema is not."""
    accepts = NONE if good is None else member(good)
    return Refused(change=member(schema), accepts=accepts, field=f"{SCHEMA}.properties[a]{place}", detail=detail)


def refused_elements(items: Any, place: str, good: Any = None, **extensions: Any) -> Refused:
    """The same of the elements of a list."""
    accepts = NONE if good is None else elements(good, **extensions)
    return Refused(change=elements(items, **extensions), accepts=accepts, field=f"{SCHEMA}.properties[a]{place}")


def webhook(**settings: Any) -> Changes:
    """A change that has objects converted by a webhook."""
    client = {"url": "https://example.com/convert"}
    given = {"clientConfig": client, "conversionReviewVersions": ["v1"], **settings}
    kept = {key: value for key, value in given.items() if value is not GONE}
    return {CONVERSION: {"strategy": "Webhook", "webhook": kept}}


def ruled(schema: Any, *rules: Any) -> Any:
    """A schema with rules, of which the text may be enough."""
    return {**schema, "x-orch-validations": [{"rule": each} if isinstance(each, str) else each for each in rules]}


def refused_rule(rule: Any, place: str, good: Any, detail: str = "") -> Refused:
    """A member that is a number with this rule is refused at `place` in it, one with the good rule is not."""
    schema = {"type": "integer"}
    return refused(ruled(schema, rule), f".x-orch-validations[0].{place}", ruled(schema, good), detail)


REVIEWS = "spec.conversion.conversionReviewVersions"
