"""Patched objects that are mostly unchanged: `KindCodec.fit_changes`."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.merge_patch import merge_patch
from orchtw.apply.strategic_merge import strategic_merge
from orchtw.errors import BadRequest
from orchtw.naming.names import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs, KindCodec
from orchtw.schema.codec.strict_fields import IGNORE, WARN
from tests.properties import examples

CODECS = Codecs(Catalogue.load(Naming.orch()))
PODS = CODECS.kind("v1", "Pod")
MAPS = CODECS.kind("v1", "ConfigMap")
LIVE: dict[str, dict[str, Any]] = {
    "Pod": {
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1}]}]},
        "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]},
    },
    "ConfigMap": {"metadata": {"name": "m"}, "data": {"a": "1"}, "binaryData": {"b": "AA=="}},
}
VALUES = some.one_of(
    some.none(), some.booleans(), some.integers(), some.sampled_from(["", "x", "Pod", "v1", "AAA="]),
    some.just([]), some.just({}), some.just({"a": None}), some.just({"a": "2", "name": "q"}),
    some.just([{"name": "c", "image": "i", "odd": 1}]),
    some.just({"conditions": [{"type": "Ready", "status": "True"}]}),
    some.just({"containers": [{"name": "d", "extra": {}}]}),
)  # fmt: skip
KEYS = ("apiVersion", "kind", "metadata", "spec", "status", "data", "binaryData", "immutable", "odd")
PATCHES = some.dictionaries(some.sampled_from(KEYS), VALUES, max_size=3)


def live_of(codec: KindCodec) -> Any:
    """A canonical object with its defaults, as an update begins with."""
    obj = codec.normalise(LIVE[codec.kind])
    codec.set_defaults(obj)
    return obj


def outcome(fitted: Any) -> Any:
    """Return the outcome of a call in a comparable form."""
    try:
        obj, findings = fitted()
    except BadRequest as error:
        return error.message
    return orjson.dumps(obj), findings


class FitChangesTests(SynchronousTestCase):
    @examples(100)
    @given(some.sampled_from([PODS, MAPS]), PATCHES, some.sampled_from([WARN, IGNORE]), some.booleans())
    def test_as_fit(self, codec: KindCodec, patch: Any, directive: str, strategic: bool) -> None:
        """Results, findings and refusals of a patched object equal those of an unknown one."""
        live = live_of(codec)
        patched = strategic_merge(live, patch, codec.schema) if strategic else merge_patch(live, patch)
        found = outcome(lambda: codec.fit_changes(patched, live, directive))
        self.assertEqual(found, outcome(lambda: codec.fit(patched, directive)))

    def test_not_looked_at(self) -> None:
        """A change of the status leaves the spec as it is, without a copy."""
        live = live_of(PODS)
        obj, _ = PODS.fit_changes(merge_patch(live, {"status": {"phase": "Running"}}), live, WARN)
        self.assertIs(obj["spec"], live["spec"])
        self.assertEqual(obj["status"]["phase"], "Running")
