"""The tables of reference READ-3 to READ-5, cell by cell (reference READ-6, READ-15)."""

from __future__ import annotations

import base64
from math import inf
from typing import Any

import orjson
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.storage.cache import freshness
from orchtw.testing.in_process import ClientAnswer
from tests.in_process import InProcessServer

EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class Case(TestCase):
    """A server with three config maps: a, b and c."""

    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        self.server = InProcessServer(reactor, self.mktemp(), etcd_compaction_interval_s=0.0)
        await self.server.start()
        self.addCleanup(self.server.stop)
        for name in "abc":
            await self.put(name)

    async def put(self, name: str) -> str:
        """Create a config map; returns its resourceVersion."""
        answer = await self.server.request("POST", CONFIG_MAPS, {"metadata": {"name": name}})
        self.assertEqual(answer.code, 201, answer.body)
        return str(answer.json["metadata"]["resourceVersion"])

    async def get(self, url: str) -> ClientAnswer:
        return await self.server.request("GET", url)

    async def names(self, query: str) -> list[str]:
        """The names in a list that must succeed."""
        answer = await self.get(f"{CONFIG_MAPS}?{query}")
        self.assertEqual(answer.code, 200, answer.body)
        return [item["metadata"]["name"] for item in answer.json["items"]]

    async def version(self) -> int:
        """The store's present revision."""
        return int((await self.get(CONFIG_MAPS)).json["metadata"]["resourceVersion"])

    async def refused(self, query: str, code: int, text: str) -> dict[str, Any]:
        """The Status of a list that must fail."""
        answer = await self.get(f"{CONFIG_MAPS}?{query}")
        self.assertEqual(answer.code, code, answer.body)
        status: dict[str, Any] = answer.json
        self.assertIn(text, status["message"])
        return status

    def wait_shortly(self) -> None:
        """Shorten the wait for a version; `tests.storage.cache.test_freshness` checks how long it is."""
        self.patch(freshness, "WAIT_S", 0.1)


class GetTests(Case):
    """Rules of table "get" of the specification."""

    async def test_unset_zero_and_past(self) -> None:
        """Unset is the latest, 0 any, another version at least that one."""
        for query in ("", "?resourceVersion=0", f"?resourceVersion={await self.version()}"):
            self.assertEqual((await self.get(f"{CONFIG_MAPS}/a{query}")).code, 200)

    async def test_future(self) -> None:
        """A version that does not come ends in 504 with Retry-After after a bounded time."""
        self.wait_shortly()
        answer = await self.get(f"{CONFIG_MAPS}/a?resourceVersion=999999")
        self.assertEqual(answer.code, 504)
        self.assertIn("Too large resource version: 999999, current: ", answer.json["message"])
        self.assertEqual(answer.headers["retry-after"], "1")

    async def test_not_a_version(self) -> None:
        """Text and negative numbers are refused, clearly."""
        for version in ("abc", "-1", "1.5", "99999999999999999999999"):
            answer = await self.get(f"{CONFIG_MAPS}/a?resourceVersion={version}")
            self.assertEqual(answer.code, 400, version)
            self.assertIn("resourceVersion: Invalid value", answer.json["message"])


class ListTests(Case):
    """Rules of table "list" of the specification."""

    async def test_without_match(self) -> None:
        """No limit: latest, any, not older; a limit with a version is exact."""
        before = await self.version()
        await self.put("d")
        self.assertEqual(await self.names(""), ["a", "b", "c", "d"])
        self.assertEqual(await self.names("resourceVersion=0"), ["a", "b", "c", "d"])
        self.assertEqual(await self.names(f"resourceVersion={before}"), ["a", "b", "c", "d"])
        self.assertEqual(await self.names(f"resourceVersion={before}&limit=9"), ["a", "b", "c"])
        self.assertEqual(await self.names("resourceVersion=0&limit=2"), ["a", "b", "c", "d"])
        self.assertEqual(await self.names("limit=2"), ["a", "b"])

    async def test_exact(self) -> None:
        """The list as it was, its resourceVersion the asked one, whatever has happened since."""
        before = await self.version()
        await self.put("d")
        await self.server.request("DELETE", f"{CONFIG_MAPS}/b")
        await self.server.request(
            "PUT", f"{CONFIG_MAPS}/a", {"metadata": {"name": "a"}, "data": {"changed": "yes"}}
        )
        answer = await self.get(f"{CONFIG_MAPS}?resourceVersion={before}&resourceVersionMatch=Exact")
        self.assertEqual(answer.json["metadata"]["resourceVersion"], str(before))
        self.assertEqual([item["metadata"]["name"] for item in answer.json["items"]], ["a", "b", "c"])
        self.assertNotIn("data", answer.json["items"][0])

    async def test_not_older_than(self) -> None:
        """0 is any, another version at least that one, with and without a limit."""
        before = await self.version()
        await self.put("d")
        match = "resourceVersionMatch=NotOlderThan"
        self.assertEqual(await self.names(f"resourceVersion=0&{match}"), ["a", "b", "c", "d"])
        self.assertEqual(await self.names(f"resourceVersion={before}&{match}"), ["a", "b", "c", "d"])
        self.assertEqual(await self.names(f"resourceVersion={before}&limit=2&{match}"), ["a", "b"])

    async def test_invalid_combinations(self) -> None:
        """Each of them is a 422 with its text, or a 400."""
        forbidden = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden"
        exact, not_older = "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan"
        for query, text in [
            (exact, f"{forbidden} unless resourceVersion is provided"),
            (not_older, f"{forbidden} unless resourceVersion is provided"),
            (f"{exact}&resourceVersion=0", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
            (f"{exact}&resourceVersion=5&continue=x", f"{forbidden} when continue is provided"),
            (f"{exact}&resourceVersion=5&watch=1", f"{forbidden} for watch"),
            ("resourceVersionMatch=foo&resourceVersion=5", 'Unsupported value: "foo": supported values: "Exact"'),
        ]:
            status = await self.refused(query, 422, text)
            self.assertEqual(status["details"]["kind"], "ListOptions")
        token = (await self.get(f"{CONFIG_MAPS}?limit=1")).json["metadata"]["continue"]
        await self.refused(
            f"limit=1&continue={token}&resourceVersion=5", 400,
            "specifying resource version is not allowed when using continue",
        )

    async def test_future(self) -> None:
        """A version from the future is a 504, exact or not."""
        self.wait_shortly()
        for query in ("", "&resourceVersionMatch=Exact", "&limit=1"):
            status = await self.refused(f"resourceVersion=999999{query}", 504, "Too large resource version")
            self.assertEqual(status["details"]["retryAfterSeconds"], 1)

    async def test_compacted(self) -> None:
        """An exact version older than the history is a 410 Expired (reference ERR-22, READ-9)."""
        before = await self.version()
        await self.put("d")
        cache = next(cache for cache in self.server.instance.resources.cacher.caches if cache.get("default/a"))
        cache.log.oldest = before + 1
        await self.server.instance.resources.store.compact(before + 1)
        text = "The resourceVersion for the provided list is too old."
        status = await self.refused(f"resourceVersion={before}&resourceVersionMatch=Exact", 410, text)
        self.assertEqual((status["reason"], status["message"]), ("Expired", text))

    async def test_exact_out_of_the_store(self) -> None:
        """Revisions older than the cache's log come from the store's history."""
        before = await self.version()
        await self.put("d")
        cache = next(cache for cache in self.server.instance.resources.cacher.caches if cache.get("default/a"))
        cache.log.oldest = before + 1
        names = await self.names(f"resourceVersion={before}&resourceVersionMatch=Exact")
        self.assertEqual(names, ["a", "b", "c"])


class ChunkTests(Case):
    """Chunked lists (reference READ-12, READ-13)."""

    async def test_snapshot(self) -> None:
        """All chunks show one state and one version, while writes go on; the last has no token."""
        first = (await self.get(f"{CONFIG_MAPS}?limit=1")).json
        self.assertEqual(first["metadata"]["remainingItemCount"], 2)
        await self.server.request("DELETE", f"{CONFIG_MAPS}/b")
        await self.put("bb")
        second = (await self.get(f"{CONFIG_MAPS}?limit=1&continue={first['metadata']['continue']}")).json
        third = (await self.get(f"{CONFIG_MAPS}?limit=9&continue={second['metadata']['continue']}")).json
        chunks = [first, second, third]
        self.assertEqual([chunk["items"][0]["metadata"]["name"] for chunk in chunks], ["a", "b", "c"])
        self.assertEqual({chunk["metadata"]["resourceVersion"] for chunk in chunks},
                         {first["metadata"]["resourceVersion"]})
        self.assertNotIn("continue", third["metadata"])
        self.assertNotIn("remainingItemCount", third["metadata"])

    async def test_no_count_with_selectors(self) -> None:
        """A selector leaves the number of remaining items unknown."""
        meta = (await self.get(f"{CONFIG_MAPS}?limit=1&fieldSelector=metadata.name!=b")).json["metadata"]
        self.assertIn("continue", meta)
        self.assertNotIn("remainingItemCount", meta)

    async def test_expired_token(self) -> None:
        """An expired token is a 410 with a token that goes on at the latest version (reference READ-16, ERR-23)."""
        meta = (await self.get(f"{CONFIG_MAPS}?limit=1")).json["metadata"]
        version = int(meta["resourceVersion"])
        await self.put("bb")
        cache = next(cache for cache in self.server.instance.resources.cacher.caches if cache.get("default/a"))
        cache.log.oldest = version + 1
        cache.kept.trim(inf)
        await self.server.instance.resources.store.compact(version + 1)
        status = await self.refused(f"limit=9&continue={meta['continue']}", 410, EXPIRED)
        self.assertEqual((status["reason"], status["message"]), ("Expired", EXPIRED))
        fresh = status["metadata"]["continue"]
        self.assertEqual(await self.names(f"limit=9&continue={fresh}"), ["b", "bb", "c"])

    async def test_forged_tokens(self) -> None:
        """Tampered, foreign and malformed tokens are a 400."""
        token = (await self.get(f"{CONFIG_MAPS}?limit=1")).json["metadata"]["continue"]
        fields = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        forged = base64.urlsafe_b64encode(orjson.dumps({**fields, "start": "zz\0"})).rstrip(b"=").decode()
        for bad in ("x", "!!", token[:-3], forged):
            await self.refused(f"limit=1&continue={bad}", 400, "continue key is not valid")
        answer = await self.get(f"/api/v1/namespaces/default/secrets?limit=1&continue={token}")
        self.assertEqual(answer.code, 400)

    async def test_gate(self) -> None:
        """Without the gate, limit and continue have no meaning (reference READ-12)."""
        server = InProcessServer(reactor, self.mktemp(), feature_gates=(("APIListChunking", "false"),))
        await server.start()
        self.addCleanup(server.stop)
        answer = await server.request("GET", "/api/v1/namespaces?limit=1")
        self.assertEqual(len(answer.json["items"]), 4)
        self.assertNotIn("continue", answer.json["metadata"])
