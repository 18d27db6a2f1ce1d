"""Contents of StorageVersions (reference VER-19)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.storage_versions import object_name, stated, without
from orchtw.wire.objects import Object

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def condition(status: Object) -> Object:
    (found,) = status["conditions"]
    return dict(found)


class StatusTests(SynchronousTestCase):
    def test_names(self) -> None:
        """The core group has a name of its own."""
        self.assertEqual(object_name("", "pods"), "core.pods")
        self.assertEqual(object_name("apps", "deployments"), "apps.deployments")

    def test_one_server(self) -> None:
        """A single server's encoding version is the common one; repeating it changes nothing."""
        status = stated({}, "a", "v1", ["v1", "v2"], EARLY)
        self.assertEqual(status["commonEncodingVersion"], "v1")
        self.assertEqual(
            status["storageVersions"],
            [{"apiServerID": "a", "encodingVersion": "v1", "decodableVersions": ["v1", "v2"]}],
        )
        self.assertEqual(
            condition(status),
            {
                "type": "AllEncodingVersionsEqual",
                "status": "True",
                "lastTransitionTime": EARLY,
                "reason": "CommonEncodingVersionSet",
                "message": "Common encoding version set",
            },
        )
        self.assertEqual(stated(status, "a", "v1", ["v1", "v2"], LATE), status)

    def test_disagreement(self) -> None:
        """While servers differ there is no common version; when they agree again there is."""
        one = stated({}, "a", "v1", ["v1"], EARLY)
        two = stated(one, "b", "v2", ["v1", "v2"], LATE)
        self.assertNotIn("commonEncodingVersion", two)
        self.assertEqual(condition(two)["status"], "False")
        self.assertEqual(condition(two)["reason"], "CommonEncodingVersionUnset")
        self.assertEqual(condition(two)["message"], "Common encoding version unset")
        self.assertEqual(condition(two)["lastTransitionTime"], LATE)
        both = stated(two, "a", "v2", ["v1", "v2"], LATE)
        self.assertEqual(both["commonEncodingVersion"], "v2")

    def test_other_common_version(self) -> None:
        """Another common version is a transition though the condition's status is the same."""
        one = stated({}, "a", "v1", ["v1"], EARLY)
        two = stated(one, "a", "v2", ["v2"], LATE)
        self.assertEqual(condition(two)["lastTransitionTime"], LATE)

    def test_without(self) -> None:
        """Entries of removed servers are dropped, and the others' common version remains."""
        two = stated(stated({}, "a", "v1", ["v1"], EARLY), "b", "v2", ["v2"], EARLY)
        left = without(two, {"a"}, LATE)
        self.assertEqual(left["commonEncodingVersion"], "v2")
        self.assertEqual([each["apiServerID"] for each in left["storageVersions"]], ["b"])
        self.assertEqual(without(left, {"b"}, LATE)["storageVersions"], [])

    def test_foreign_conditions(self) -> None:
        """Conditions of other types stay."""
        mine = {"type": "Mine", "status": "True", "reason": "r", "message": "m"}
        status = stated({"conditions": [mine]}, "a", "v1", ["v1"], EARLY)
        self.assertIn(mine, status["conditions"])
