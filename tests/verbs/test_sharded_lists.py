"""Lists, watches and deletions of one shard (reference READ-29)."""

# covers: orchtw.verbs.list

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from orchtw.rules.shard_selectors import fnv1a_64
from orchtw.wire.objects import Object
from tests.verbs.served import DEFAULT, ServedCase

MAPS = f"{DEFAULT}/configmaps"
MIDDLE = "0x8000000000000000"
LOW = f"shardRange(object.metadata.uid, '0x0000000000000000', '{MIDDLE}')"
HIGH = f"shardRange(object.metadata.uid, '{MIDDLE}', '0x10000000000000000')"
NAMES = [f"m{number}" for number in range(24)]


def low(obj: Object) -> bool:
    """Report whether an object belongs to the lower half."""
    return fnv1a_64(obj["metadata"]["uid"].encode()) < int(MIDDLE, 16)


class ShardedListTests(ServedCase):
    more = {"feature_gates": (("ShardedListAndWatch", "true"),)}

    def sent(self, method: str, url: str, body: Any = None, **headers: str) -> Any:
        answer = self.run_async(self.server.request(method, url, body, headers or None))
        self.assertLess(answer.code, 300, answer.body)
        return answer.json

    def make(self) -> list[Object]:
        return [self.sent("POST", MAPS, {"metadata": {"name": name}}) for name in NAMES]

    def listed(self, shards: str, more: str = "", **headers: str) -> Any:
        return self.sent("GET", f"{MAPS}?shardSelector={quote(shards)}{more}", **headers)

    def test_lists(self) -> None:
        """Each half has its objects, says which half it is, and both make the whole (reference READ-29)."""
        made = self.make()
        lower, upper = self.listed(LOW), self.listed(HIGH)
        self.assertEqual(lower["metadata"]["shardInfo"], {"selector": LOW})
        self.assertEqual(upper["metadata"]["shardInfo"], {"selector": HIGH})
        names = [each["metadata"]["name"] for each in lower["items"]]
        self.assertEqual(names, sorted(each["metadata"]["name"] for each in made if low(each)))
        self.assertEqual(len(lower["items"]) + len(upper["items"]), len(self.sent("GET", MAPS)["items"]))
        self.assertNotIn("shardInfo", self.sent("GET", MAPS)["metadata"])
        self.assertEqual(len(self.listed(f"{LOW} || {HIGH}")["items"]), len(self.sent("GET", MAPS)["items"]))

    def test_pages(self) -> None:
        """Parts of a shard tell no number of the objects that remain (reference READ-29)."""
        self.make()
        first = self.listed(LOW, "&limit=2")
        self.assertEqual(len(first["items"]), 2)
        self.assertNotIn("remainingItemCount", first["metadata"])
        rest = self.listed(LOW, f"&continue={first['metadata']['continue']}")
        self.assertEqual([*first["items"], *rest["items"]], self.listed(LOW)["items"])
        exact = f"&resourceVersion={first['metadata']['resourceVersion']}&resourceVersionMatch=Exact"
        self.assertEqual(self.listed(LOW, exact)["items"], self.listed(LOW)["items"])

    def test_forms(self) -> None:
        """Tables, partial metadata and Protobuf tell the selector too (reference READ-29)."""
        self.make()
        for form in ("Table", "PartialObjectMetadataList"):
            accept = f"application/json;as={form};v=v1;g=meta.orch.io"
            found = self.listed(LOW, accept=accept)
            self.assertEqual((found["kind"], found["metadata"]["shardInfo"]), (form, {"selector": LOW}))
        answer = self.run_async(
            self.server.request(
                "GET", f"{MAPS}?shardSelector={quote(LOW)}", None, {"accept": "application/vnd.orch.protobuf"}
            )
        )
        self.assertIn(LOW.encode(), answer.body)

    def test_namespaces(self) -> None:
        """Objects can be sharded by their namespace (reference READ-29)."""
        self.make()
        own = f"{fnv1a_64(b'default'):#018x}"
        found = self.listed(f"shardRange(object.metadata.namespace, '0x0', '{own}')")
        self.assertEqual(found["items"], [])
        found = self.listed(f"shardRange(object.metadata.namespace, '{own}', '0x10000000000000000')")
        self.assertEqual(len(found["items"]), len(self.sent("GET", MAPS)["items"]))

    def test_watch(self) -> None:
        """A watch sends the events of its shard only (reference READ-29)."""
        watch = self.run_async(self.server.watch(f"{MAPS}?watch=1&shardSelector={quote(HIGH)}"))
        self.addCleanup(watch.close)
        expected = [each["metadata"]["name"] for each in self.make() if not low(each)]
        seen: list[str] = []
        while len(seen) < len(expected):
            event = self.run_async(watch.next())
            self.assertFalse(low(event["object"]))
            seen.append(event["object"]["metadata"]["name"])
        self.assertTrue(set(expected).issuperset(seen[1:]))

    def test_delete(self) -> None:
        """A deletion of a collection takes the shard's objects only (reference READ-29)."""
        self.make()
        upper = self.listed(HIGH)["items"]
        self.sent("DELETE", f"{MAPS}?shardSelector={quote(LOW)}")
        self.assertEqual(self.sent("GET", MAPS)["items"], upper)

    def test_custom_error(self) -> None:
        """A selector that cannot be read is a 400 (reference READ-29)."""
        answer = self.run_async(self.server.request("GET", f"{MAPS}?shardSelector=x"))
        self.assertEqual((answer.code, answer.json["reason"]), (400, "BadRequest"))


class GateOffTests(ServedCase):
    def test_ignored(self) -> None:
        """Without the gate the parameter is ignored, and no list says otherwise (reference READ-29)."""
        answer = self.run_async(self.server.request("GET", f"{MAPS}?shardSelector=x"))
        self.assertEqual((answer.code, list(answer.json["metadata"])), (200, ["resourceVersion"]))
