"""Reading seen from outside: lists and watches.

Each test is named after its rule; the docstrings cite the reference.
"""

from __future__ import annotations

import yaml

from tests.emulated import RELEASE
from tests.end_to_end.case import surface
from tests.end_to_end.client import Answer
from tests.end_to_end.objects import TABLE, ConventionCase, config_map
from tests.schema.codec.envelopes import opened


def names(answer: Answer) -> list[str]:
    """The names of a list's items."""
    return [item["metadata"]["name"] for item in answer.json["items"]]


class ListTests(ConventionCase):
    async def query(self, query: str) -> Answer:
        return await self.client.get(f"{self.maps}?{query}")

    async def test_shape(self) -> None:
        """A list has its kind and version; its items have neither, and an empty one is `[]` (reference OBJ-14)."""
        empty = (await self.client.get(self.maps)).json
        self.assertEqual((empty["kind"], empty["apiVersion"], empty["items"]), ("ConfigMapList", "v1", []))
        made = await self.make()
        shown = (await self.client.get(self.maps)).json
        self.assertEqual(list(shown), ["kind", "apiVersion", "metadata", "items"])
        self.assertEqual(list(shown["metadata"]), ["resourceVersion"])
        self.assertEqual(shown["items"], [{key: made[key] for key in ("metadata", "data")}])
        self.assertGreaterEqual(int(shown["metadata"]["resourceVersion"]), int(made["metadata"]["resourceVersion"]))

    async def test_order(self) -> None:
        """Items come in byte order of their names, whatever the order of their creation (reference READ-13)."""
        for name in ("b", "a.b", "a", "a-b", "c"):
            await self.make(name)
        self.assertEqual(names(await self.client.get(self.maps)), ["a", "a-b", "a.b", "b", "c"])

    async def test_across_namespaces(self) -> None:
        """The list without a namespace holds the objects of all, by namespace and name (reference REQ-4)."""
        other = await self.new_namespace()
        await self.make("z")
        await self.created(self.core("configmaps", namespace=other), config_map("a"))
        items = (await self.client.get("/api/v1/configmaps")).json["items"]
        places = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in items]
        self.assertLess(places.index((self.namespace, "z")), len(places))
        self.assertIn((other, "a"), places)
        self.assertEqual(places, sorted(places))

    async def test_label_selectors(self) -> None:
        """Every operator of the grammar selects as it says (reference READ-18)."""
        for name, labels in (("a", {"k": "v"}), ("b", {"k": "w", "n": "5"}), ("c", {})):
            await self.make(name, labels=labels)
        table = {
            "k": "ab", "!k": "c", "k=v": "a", "k==v": "a", "k!=v": "bc", "k in (v,w)": "ab", "k notin (v)": "bc",
            "n>4": "b", "n<5": "", "k,n": "b", "": "abc", " k in ( v , w ) , !n": "a",
        }
        for selector, expected in table.items():
            quoted = "".join(f"%{byte:02X}" for byte in selector.encode())
            self.assertEqual("".join(names(await self.query(f"labelSelector={quoted}"))), expected, selector)

    async def test_field_selectors(self) -> None:
        """Names and the kind's own fields select; other fields are refused with this text
        (reference READ-20 to READ-22).
        """
        for name, kind in (("a", "Opaque"), ("b", "x.io/y")):
            await self.created(self.core("secrets"), {"metadata": {"name": name}, "type": kind})
        secrets, tokens = self.core("secrets"), "type!%3Dorch.io/service-account-token"
        for selector, expected in (
            ("type%3Dx.io/y", ["b"]), (f"type!%3Dx.io/y,{tokens}", ["a"]), ("metadata.name%3Da", ["a"]),
        ):  # fmt: skip
            self.assertEqual(names(await self.client.get(f"{secrets}?fieldSelector={selector}")), expected)
        answer = await self.client.get(f"{self.core('pods')}?fieldSelector=spec.foo%3D1")
        self.assertRefused(answer, 400, "BadRequest", "field label not supported: spec.foo")
        self.assertRefused(
            await self.query("fieldSelector=xx"), 400, "BadRequest", "invalid selector: 'xx'; can't understand 'xx'"
        )

    async def test_chunks(self) -> None:
        """Chunks hold each object once, at one version, and count what is left (reference READ-13, READ-14)."""
        for name in "abcde":
            await self.make(name)
        first = await self.query("limit=2")
        meta = first.json["metadata"]
        self.assertEqual((names(first), meta["remainingItemCount"]), (["a", "b"], 3))
        await self.make("bb")
        second = await self.query(f"limit=2&continue={meta['continue']}")
        self.assertEqual((names(second), second.json["metadata"]["remainingItemCount"]), (["c", "d"], 1))
        last = await self.query(f"limit=2&continue={second.json['metadata']['continue']}")
        self.assertEqual((names(last), list(last.json["metadata"])), (["e"], ["resourceVersion"]))
        self.assertEqual({first.version, second.version, last.version}, {first.version})

    async def test_chunks_with_a_selector(self) -> None:
        """With a selector chunks are filled, and nothing is counted (reference READ-13, READ-14)."""
        for name in "abcdef":
            await self.make(name, labels={"l": "x" if name in "ace" else "y"})
        first = await self.query("limit=2&labelSelector=l%3Dx")
        self.assertEqual(names(first), ["a", "c"])
        self.assertNotIn("remainingItemCount", first.json["metadata"])
        token = first.json["metadata"]["continue"]
        self.assertEqual(names(await self.query(f"limit=2&labelSelector=l%3Dx&continue={token}")), ["e"])

    async def test_continue_with_a_version(self) -> None:
        """continue with another resourceVersion is a 400; with 0 it is a continue (reference READ-4)."""
        for name in "abc":
            await self.make(name)
        token = (await self.query("limit=1")).json["metadata"]["continue"]
        self.assertRefused(
            await self.query(f"limit=1&continue={token}&resourceVersion=5"), 400, "BadRequest",
            "specifying resource version is not allowed when using continue",
        )
        self.assertEqual(names(await self.query(f"limit=1&continue={token}&resourceVersion=0")), ["b"])

    async def test_exact(self) -> None:
        """A limit with a version, or match=Exact, shows the past (reference READ-4, READ-5)."""
        await self.make("a")
        then = (await self.query("")).version
        await self.make("b")
        for query in (f"resourceVersion={then}&limit=5", f"resourceVersion={then}&resourceVersionMatch=Exact"):
            past = await self.query(query)
            self.assertEqual((names(past), past.version), (["a"], then))
        now = await self.query(f"resourceVersion={then}")
        self.assertEqual(names(now), ["a", "b"], "without a limit it is a lower bound")

    async def test_version_rules(self) -> None:
        """Each wrong combination is a 422 of ListOptions with its text (reference READ-6)."""
        forbidden = "resourceVersionMatch: Forbidden: resourceVersionMatch"
        unless = " unless sendInitialEvents is provided" if RELEASE >= (1, 27) else ""  # gate WatchList
        table = {
            "resourceVersionMatch=Exact": f"{forbidden} is forbidden unless resourceVersion is provided",
            "resourceVersionMatch=Exact&resourceVersion=0":
                f'{forbidden} "exact" is forbidden for resourceVersion "0"',
            "resourceVersionMatch=NotOlderThan&resourceVersion=1&watch=1":
                f"{forbidden} is forbidden for watch{unless}",
            "resourceVersionMatch=foo&resourceVersion=1":
                'resourceVersionMatch: Unsupported value: "foo": supported values: "Exact", "NotOlderThan", ""',
        }
        for query, text in table.items():
            message = f'ListOptions.{self.naming.meta_group} "" is invalid: {text}'
            status = self.assertRefused(await self.query(query), 422, "Invalid", message)
            self.assertEqual(
                (status["details"]["group"], status["details"]["kind"]), (self.naming.meta_group, "ListOptions")
            )

    async def test_version_of_the_future(self) -> None:
        """A version that is not reached in time is a 504 with Retry-After (reference READ-8, ERR-24)."""
        answer = await self.query("resourceVersion=999999999")
        self.assertEqual((answer.code, answer.json["reason"], answer.headers["retry-after"]), (504, "Timeout", "1"))
        self.assertRegex(
            answer.json["message"], r"^Timeout: Too large resource version: 999999999, current: \d+$"
        )
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        self.assertEqual(answer.json["details"], {"causes": [cause], "retryAfterSeconds": 1})


class WatchTests(ConventionCase):
    async def test_from_a_version(self) -> None:
        """A watch from a version shows what came after it; DELETED has the last state and a new version
        (reference WATCH-1, WATCH-7).
        """
        made = await self.make()
        version = made["metadata"]["resourceVersion"]
        watch = await self.client.watch(f"{self.maps}?watch=true&resourceVersion={version}")
        self.assertEqual(watch.headers["content-type"], "application/json")
        self.assertEqual(watch.headers["transfer-encoding"], "chunked")
        changed = await self.ok(await self.client.merge(f"{self.maps}/a", {"data": {"k": "w"}}))
        await self.client.delete(f"{self.maps}/a")
        events = await watch.events(2)
        self.assertEqual(events[0], {"type": "MODIFIED", "object": changed})
        self.assertEqual((events[1]["type"], events[1]["object"]["data"]), ("DELETED", {"k": "w"}))
        gone = events[1]["object"]["metadata"]["resourceVersion"]
        self.assertGreater(int(gone), int(changed["metadata"]["resourceVersion"]))

    async def test_from_the_present(self) -> None:
        """Without a version, or from 0, a watch begins with an ADDED for each object (reference WATCH-1)."""
        for name in ("a", "b"):
            await self.make(name)
        for query in ("watch=1", "watch=1&resourceVersion=0", "watch"):
            watch = await self.client.watch(f"{self.maps}?{query}")
            self.assertEqual(await watch.types(2), [("ADDED", "a"), ("ADDED", "b")])

    async def test_switch(self) -> None:
        """`watch=false` and `watch=0` are plain lists; legacy paths watch (reference REQ-6, REQ-16)."""
        await self.make()
        for query in ("watch=false", "watch=0", "watch=False"):
            self.assertEqual((await self.client.get(f"{self.maps}?{query}")).json["kind"], "ConfigMapList")
        for path in (f"namespaces/{self.namespace}/configmaps", f"namespaces/{self.namespace}/configmaps/a"):
            watch = await self.client.watch(f"/api/v1/watch/{path}")
            self.assertEqual(await watch.types(1), [("ADDED", "a")])

    async def test_time_out(self) -> None:
        """timeoutSeconds ends the stream in good order (reference WATCH-11, REQ-19)."""
        await self.make()
        watch = await self.client.watch(f"{self.maps}?watch=1&timeoutSeconds=1")
        self.assertEqual([event["type"] for event in await watch.rest()], ["ADDED"])

    async def test_bookmarks(self) -> None:
        """A bookmark comes before the end if asked for; it holds a version and nothing else
        (reference WATCH-12, WATCH-13).
        """
        made = await self.make()
        watch = await self.client.watch(f"{self.maps}?watch=1&allowWatchBookmarks=true&timeoutSeconds=3")
        events = await watch.rest()
        self.assertEqual([event["type"] for event in events], ["ADDED", "BOOKMARK"])
        bookmark = events[1]["object"]
        self.assertEqual((bookmark["kind"], bookmark["apiVersion"]), ("ConfigMap", "v1"))
        self.assertEqual(list(bookmark["metadata"]), ["resourceVersion", "creationTimestamp"])
        self.assertIsNone(bookmark["metadata"]["creationTimestamp"])
        self.assertGreaterEqual(
            int(bookmark["metadata"]["resourceVersion"]), int(made["metadata"]["resourceVersion"])
        )

    async def test_selection(self) -> None:
        """Entering a selection is ADDED, leaving it is DELETED with the old state and the new version
        (reference WATCH-8).
        """
        made = await self.make(labels={"l": "x"})
        query = f"watch=1&labelSelector=l%3Dx&resourceVersion={made['metadata']['resourceVersion']}"
        watch = await self.client.watch(f"{self.maps}?{query}")
        out = await self.ok(await self.client.merge(f"{self.maps}/a", {"metadata": {"labels": {"l": "y"}}}))
        back = await self.ok(await self.client.merge(f"{self.maps}/a", {"metadata": {"labels": {"l": "x"}}}))
        left, entered = await watch.events(2)
        self.assertEqual((left["type"], left["object"]["metadata"]["labels"]), ("DELETED", {"l": "x"}))
        self.assertEqual(left["object"]["metadata"]["resourceVersion"], out["metadata"]["resourceVersion"])
        self.assertEqual(entered, {"type": "ADDED", "object": back})

    async def test_beginning_of_the_end(self) -> None:
        """Setting deletionTimestamp is MODIFIED, the removal DELETED (reference WATCH-6)."""
        made = await self.make(finalizers=["x.io/a"])
        version = made["metadata"]["resourceVersion"]
        watch = await self.client.watch(f"{self.maps}?watch=1&resourceVersion={version}")
        await self.client.delete(f"{self.maps}/a")
        await self.client.merge(f"{self.maps}/a", {"metadata": {"finalizers": None}})
        self.assertEqual(await watch.types(2), [("MODIFIED", "a"), ("DELETED", "a")])

    async def test_item_path_is_a_get(self) -> None:
        """`watch` on the path of one object is ignored (reference REQ-12)."""
        made = await self.make()
        self.assertEqual((await self.client.get(f"{self.maps}/a?watch=1")).json, made)

    async def test_protobuf(self) -> None:
        """A Protobuf watch sends length-delimited WatchEvents whose objects are envelopes (reference WATCH-15)."""
        made = await self.make()
        stream_type = self.naming.protobuf_media_type + ";stream=watch"
        watch = await self.client.watch(f"{self.maps}?watch=1", stream_type)
        self.assertEqual(watch.headers["content-type"], stream_type)
        frame = await watch.frame()
        self.assertTrue(frame.startswith(b"\x0a\x05ADDED\x12"), frame)
        envelope = frame[frame.index(b"k8s\0") :]
        codec = surface(self.vocabulary)[1].kind("v1", "ConfigMap")
        self.assertEqual(opened(codec, envelope), made)

    async def test_table(self) -> None:
        """A Table watch sends one-row Tables; only the first has the columns (reference WATCH-16)."""
        await self.make("a")
        await self.make("b")
        watch = await self.client.watch(f"{self.maps}?watch=1", TABLE)
        first, second = await watch.events(2)
        self.assertEqual([event["object"]["kind"] for event in (first, second)], ["Table", "Table"])
        self.assertEqual(first["object"]["columnDefinitions"][0]["name"], "Name")
        self.assertFalse(second["object"].get("columnDefinitions"))
        self.assertEqual(second["object"]["rows"][0]["cells"][0], "b")

    async def test_no_yaml(self) -> None:
        """YAML cannot be streamed (reference WATCH-14)."""
        answer = await self.client.get(f"{self.maps}?watch=1", "application/yaml")
        text = "only the following media types are accepted: application/json;stream=watch, "
        self.assertEqual(answer.code, 406)
        message = yaml.safe_load(answer.body)["message"]
        self.assertEqual(message, f"{text}{self.naming.protobuf_media_type};stream=watch")
