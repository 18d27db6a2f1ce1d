"""Keys of plans: requests with one key differ in nothing but an object's name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.filters import plan_keys
from orchtw.filters.plan_keys import Key, PlanKeys
from orchtw.request import Peer, Request, SameHead
from orchtw.rules.request_info import parse
from tests.properties import examples

SEGMENTS = ("api", "apis", "v1", "apps", "namespaces", "watch", "proxy", "status", "finalize", "pods", "log", "x",
            "..", "", "%70ods", "a b", "é")  # fmt: skip
TEXTS = st.sampled_from(("a", "b", "a\nb", "b\na", "", ":", "\n"))
PATHS = st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=8).map(lambda parts: "/" + "/".join(parts))
NAMES = st.from_regex(r"[a-z0-9.:_-]{1,8}", fullmatch=True)


class PlanKeysTests(SynchronousTestCase):
    """Keys of requests and their callers (`PlanKeys`)."""

    def setUp(self) -> None:
        self.keys = PlanKeys()

    def key(self, path: str, address: str = "a", same: SameHead | None = None, **headers: str) -> Key | None:
        peer = Peer(address=address, port=1)
        return self.keys.of(Request(method="GET", path=path, headers=headers, peer=peer, same_head=same))

    @given(PATHS, NAMES)
    @examples(400)
    def test_names_differ_alone(self, path: str, name: str) -> None:
        """Requests with one key and different names in their paths differ in nothing else."""
        key = self.key(path)
        if key is None or path != key[1] + path.rpartition("/")[2] or not path.rpartition("/")[2]:
            return
        first, other = parse("GET", path, {}), parse("GET", key[1] + name, {})
        if first.verb == "get" and len(first.parts) == 2 and first.name == path.rpartition("/")[2]:
            if first.resource != "namespaces":
                self.assertEqual((other.verb, other.group, other.version), (first.verb, first.group, first.version))
                self.assertEqual(
                    (other.namespace, other.resource, other.subresource, other.exact, other.name),
                    (first.namespace, first.resource, first.subresource, True, name),
                )

    @given(st.dictionaries(TEXTS, TEXTS), st.dictionaries(TEXTS, TEXTS))
    @examples(300)
    def test_headers(self, first: dict[str, str], second: dict[str, str]) -> None:
        """Requests with other headers have other keys, whatever the headers hold."""
        path = "/api/v1/namespaces/n/pods/p"
        one, other = self.key(path, "a", None, **first), self.key(path, "a", None, **second)
        if one is not None and other is not None:
            self.assertEqual(one == other, list(first.items()) == list(second.items()))

    def test_same_head(self) -> None:
        """A head that the edge knows again keeps its caller."""
        same, path = SameHead({"x": "y"}), "/api/v1/nodes/n"
        found = self.key(path, same=same, x="y")
        assert found is not None
        self.assertIs(same.caller, found[0])
        self.assertEqual(self.key(path, same=same, x="y"), found)

    def test_repeated(self) -> None:
        """Lines of one name have no key: joined they could be taken for one line."""
        request = Request(method="GET", path="/api/v1/nodes/n", headers={"x": "a, b"}, peer=Peer(address="", port=0))
        self.assertIsNotNone(self.keys.of(request))
        request.repeated = {"x": ["a", "b"]}
        self.assertIsNone(self.keys.of(request))

    def test_bounded(self) -> None:
        """So many callers are kept; the oldest one is another when it comes again."""
        self.patch(plan_keys, "MOST_CALLERS", 2)
        path = "/api/v1/nodes/n"
        first = self.key(path, x="1")
        self.key(path, x="2")
        self.assertEqual(self.key(path, x="1"), first)
        self.key(path, x="3")
        self.assertNotEqual(self.key(path, x="1"), first)
