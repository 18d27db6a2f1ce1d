"""Client libraries and an operator that meet faults, unmodified: the public Python client, its informer, and kopf."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from tests.end_to_end.case import reactor
from tests.end_to_end.fault_case import RULES, FaultCase
from tests.end_to_end.test_custom_operators import Program, missing
from tests.end_to_end.test_public_client import kubernetes

OPERATOR = Path(__file__).with_name("operators") / "labelling_with_kopf.py"
MAPS = 8
T = TypeVar("T")


class PublicClientCase(FaultCase):
    """The client as the operator; it blocks, so its work runs in a thread."""

    if kubernetes is None:
        skip = "the kubernetes package is not installed (extra `test`): not run"

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        api = kubernetes.config.new_client_from_config(str(self.kubeconfig()))
        self.addCleanup(api.close)
        self.v1: Any = kubernetes.client.CoreV1Api(api)

    def refused(self, code: int, work: Callable[[], Any]) -> Any:
        """The exception of the client for this status."""
        with self.assertRaises(kubernetes.client.ApiException) as caught:
            work()
        self.assertEqual(caught.exception.status, code)
        return caught.exception


class PublicClientTests(PublicClientCase):
    """Requests and watches (`kubernetes.client`, `kubernetes.watch`)."""

    async def test_conflict(self) -> None:
        """A read-modify-write that is repeated on a conflict gets through once the rule is used up."""
        await self.map("a", n="0")
        rule = await self.rule(status=409, verb="update", resource="configmaps", times=2)

        def work() -> int:
            for attempt in range(5):
                live = self.v1.read_namespaced_config_map("a", self.namespace)
                live.data["n"] = str(int(live.data["n"]) + 1)
                try:
                    self.v1.replace_namespaced_config_map("a", self.namespace, live)
                except kubernetes.client.ApiException as error:
                    self.assertEqual(error.status, 409)
                else:
                    return attempt
            return -1

        self.assertEqual(await deferToThread(work), 2)
        self.assertEqual((await self.client.get(f"{self.maps}/a")).json["data"], {"n": "1"})
        self.assertEqual(await self.struck(rule), 2)

    async def test_statuses(self) -> None:
        """Failing requests are exceptions with their codes; where Retry-After asks for it, the client waits."""
        await self.map("a")

        def read() -> str:
            name: str = self.v1.read_namespaced_config_map("a", self.namespace).metadata.name
            return name

        for code in (500, 503, 504):
            await self.rule(status=code, verb="get", resource="configmaps", times=1)
            await deferToThread(self.refused, code, read)
        for code in (429, 503):
            rule = await self.rule(status=code, verb="get", resource="configmaps", times=1, retryAfterSeconds=1)
            self.assertEqual((await deferToThread(read), await self.struck(rule)), ("a", 1))

    async def test_hanging(self) -> None:
        """The client's own time-out ends a hanging request; nothing is stored."""
        from urllib3.exceptions import HTTPError

        await self.rule(fault="hanging", resource="configmaps", verb="create")
        body = {"metadata": {"name": "x"}}

        def work() -> None:
            self.v1.create_namespaced_config_map(self.namespace, body, _request_timeout=0.5)

        with self.assertRaises(HTTPError):
            await deferToThread(work)
        self.assertEqual(await self.names(), set())

    async def test_reset_after_create(self) -> None:
        """A create whose answer is lost is an error; done again, it finds what it has stored."""
        from urllib3.exceptions import HTTPError

        await self.rule(fault="reset", when="after", resource="configmaps", verb="create", times=1)
        body = {"metadata": {"name": "x"}}

        def work() -> None:
            with self.assertRaises(HTTPError):
                self.v1.create_namespaced_config_map(self.namespace, body)
            self.refused(409, lambda: self.v1.create_namespaced_config_map(self.namespace, body))

        await deferToThread(work)
        self.assertEqual(await self.names(), {"x"})

    async def test_expired_watch(self) -> None:
        """A watch that meets a 410 in its stream is resumed by the client, once; the second is an exception."""
        for name in "abc":
            await self.map(name)
        rule = await self.rule(fault="expired", inStream=True, afterEvents=2, resource="configmaps", times=1)

        version = (await self.client.get(self.maps)).version

        def seen(count: int, **options: Any) -> list[str]:
            watch, found = kubernetes.watch.Watch(), []
            for event in watch.stream(self.v1.list_namespaced_config_map, self.namespace, **options):
                found.append(event["object"].metadata.name)
                if len(found) == count:
                    watch.stop()
            return found

        self.assertEqual(await deferToThread(seen, 3), ["a", "b", "c"])
        self.assertEqual(await self.struck(rule), 1)
        await self.rule(fault="expired", inStream=True, resource="configmaps", times=2)
        await deferToThread(self.refused, 410, lambda: seen(1, resource_version=version))
        await self.rule(fault="expired", verb="watch", resource="configmaps", times=1)
        await deferToThread(self.refused, 410, lambda: seen(1, resource_version=version))

    async def test_stale_list(self) -> None:
        """A list of version 0 is older than the one without."""
        await self.map("a")
        await self.rule(fault="stale", resource="configmaps")
        await self.map("b")

        def names(**options: Any) -> list[str]:
            found = self.v1.list_namespaced_config_map(self.namespace, **options)
            return [each.metadata.name for each in found.items]

        self.assertEqual(await deferToThread(names, resource_version="0"), ["a"])
        self.assertEqual(await deferToThread(names), ["a", "b"])


    async def test_stale_get(self) -> None:
        """A get of version 0, by the dynamic client, shows the object as it was; any other get as it is."""
        await self.map("a", n="0")
        rule = await self.rule(fault="stale", resource="configmaps", verb="get")
        await self.client.merge(f"{self.maps}/a", {"data": {"n": "1"}})

        def work() -> list[str]:
            maps = kubernetes.dynamic.DynamicClient(self.v1.api_client).resources.get(
                api_version="v1", kind="ConfigMap"
            )
            found = [maps.get(name="a", namespace=self.namespace, resource_version=each) for each in ("0", None)]
            return [each.data.n for each in found]

        self.assertEqual(await deferToThread(work), ["0", "1"])
        self.assertEqual(await self.struck(rule), 1)

    async def test_stale_watch(self) -> None:
        """A watch from version 0 begins with the objects as they were, and catches up."""
        await self.map("a", n="0")
        rule = await self.rule(fault="stale", resource="configmaps", verb="watch")
        await self.client.merge(f"{self.maps}/a", {"data": {"n": "1"}})

        def work() -> list[tuple[str, str]]:
            found = []
            watch = kubernetes.watch.Watch()
            for event in watch.stream(self.v1.list_namespaced_config_map, self.namespace, resource_version="0"):
                found.append((event["type"], event["object"].data["n"]))
                if len(found) == 2:
                    watch.stop()
            return found

        self.assertEqual(await deferToThread(work), [("ADDED", "0"), ("MODIFIED", "1")])
        self.assertEqual(await self.struck(rule), 1)

    async def test_late(self) -> None:
        """A late answer is like any other to a patient client; to a hasty one it is a time-out, done or not."""
        from urllib3.exceptions import HTTPError

        rule = await self.rule(fault="late", seconds=0.5, resource="configmaps", verb="create", times=2)

        def create(name: str, **options: Any) -> None:
            self.v1.create_namespaced_config_map(self.namespace, {"metadata": {"name": name}}, **options)

        with self.assertRaises(HTTPError):
            await deferToThread(create, "hasty", _request_timeout=0.1)
        await deferToThread(create, "patient")
        self.assertIn("patient", await self.names())
        self.assertEqual(await self.struck(rule), 2)

    async def test_reset_before_create(self) -> None:
        """A create whose connection is reset before it is stored is an error; done again, it is the first."""
        from urllib3.exceptions import HTTPError

        await self.rule(fault="reset", resource="configmaps", verb="create", times=1)
        body = {"metadata": {"name": "x"}}

        def create() -> None:
            self.v1.create_namespaced_config_map(self.namespace, body)

        with self.assertRaises(HTTPError):
            await deferToThread(create)
        self.assertEqual(await self.names(), set())
        await deferToThread(create)
        self.assertEqual(await self.names(), {"x"})

    async def test_expired_list(self) -> None:
        """A list in pages that meets a 410 begins anew, as the client asks of its callers, and is complete."""
        for name in "abc":
            await self.map(name)
        await self.rule(status=410, verb="list", resource="configmaps", after=1, times=1)

        def work() -> list[str]:
            page = self.v1.list_namespaced_config_map(self.namespace, limit=2)
            further = {"limit": 2, "_continue": page.metadata._continue}
            self.refused(410, lambda: self.v1.list_namespaced_config_map(self.namespace, **further))
            found = self.v1.list_namespaced_config_map(self.namespace)
            return [each.metadata.name for each in found.items]

        self.assertEqual(await deferToThread(work), ["a", "b", "c"])

    async def test_bookmarks(self) -> None:
        """Without its bookmark a watch would be resumed from its last event; late it comes as far as on time."""
        version = (await self.map("a"))["metadata"]["resourceVersion"]
        await self.created(self.core("secrets"), {"metadata": {"name": "later"}})

        def reached() -> str:
            watch = kubernetes.watch.Watch()
            options = {"allow_watch_bookmarks": True, "timeout_seconds": 3, "resource_version": "0"}
            for _ in watch.stream(self.v1.list_namespaced_config_map, self.namespace, **options):
                pass
            return str(watch.resource_version)

        dropped = await self.rule(fault="bookmarks", resource="configmaps", times=1)
        self.assertEqual(await deferToThread(reached), version)
        delayed = await self.rule(fault="bookmarks", seconds=1, resource="configmaps", times=1)
        self.assertGreater(int(await deferToThread(reached)), int(version))
        self.assertEqual([await self.struck(rule) for rule in (dropped, delayed)], [1, 1])


class InformerTests(PublicClientCase):
    """The client's informer (`kubernetes.informer`), which lists once and follows."""

    if missing("kubernetes.informer"):
        skip = missing("kubernetes.informer") or ""

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        from kubernetes.informer import SharedInformer

        # It logs a traceback for each watch that a fault breaks.
        self.patch(logging.getLogger("kubernetes.informer.informer"), "disabled", True)
        self.errors: list[Any] = []
        self.informer = SharedInformer(self.v1.list_namespaced_config_map, namespace=self.namespace)
        self.informer.add_event_handler("ERROR", self.errors.append)
        self.addCleanup(self.stop)

    async def stop(self) -> None:
        """Stop the informer, whose watch ends with the next event."""
        stopping = deferToThread(self.informer.stop)
        await self.client.send("DELETE", RULES)
        for number in range(100):
            if stopping.called:
                break
            await self.map(f"end-{number}")
            await deferLater(reactor, 0.05)
        await stopping

    async def until_known(self, names: set[str]) -> None:
        """Wait until the informer's cache has these objects and no others."""
        while set(self.informer.cache.list_keys()) != {f"{self.namespace}/{name}" for name in names}:
            await deferLater(reactor, 0.02)

    async def test_expired_list(self) -> None:
        """An informer whose list is answered with a 410 lists again, and knows all."""
        await self.map("a")
        rule = await self.rule(status=410, verb="list", resource="configmaps", times=1)
        rest = self.informer._stop_event.wait
        self.patch(self.informer._stop_event, "wait", lambda timeout: rest(timeout / 10))  # five seconds otherwise
        self.informer.start()
        await self.until_known({"a"})
        self.assertEqual(await self.struck(rule), 1)

    async def test_broken_watches(self) -> None:
        """Through cuts and expiries of every form the informer comes to know what there is."""
        await self.map("a")
        rules = [
            await self.rule(fault="cut", resource="configmaps", times=2),
            await self.rule(fault="expired", inStream=True, afterEvents=1, resource="configmaps", times=2),
            await self.rule(fault="expired", verb="watch", resource="configmaps", times=1),
        ]
        self.informer.start()
        await self.until_known({"a"})
        number = 0
        while [await self.struck(rule) for rule in rules] != [2, 2, 1]:
            await self.map(f"b{number}")
            number += 1
            await deferLater(reactor, 0.05)
        await self.client.delete(f"{self.maps}/a")
        await self.until_known(await self.names())
        self.assertGreater(len(self.errors), 2)


class OperatorTests(FaultCase):
    """An operator under `chaos`."""

    if missing("kopf"):
        skip = missing("kopf")

    async def test_chaos(self) -> None:
        """An operator of kopf does all of its work while the preset strikes its requests and watches."""
        answer = await self.client.post(RULES, {"preset": "chaos", "seed": 7, "user": "operator"})
        self.assertEqual(answer.code, 201, answer)
        program = Program(
            ["-m", "kopf", "run", "--standalone", f"--namespace={self.namespace}", str(OPERATOR)],
            {"KUBECONFIG": str(self.kubeconfig())},
        )
        self.addCleanup(program.kill)
        for round_number in ("1", "2"):
            for number in range(MAPS):
                meta = {"name": f"m{number}", "labels": {"mark": "wanted"}}
                body = {"metadata": meta, "data": {"asked": round_number}}
                path = f"{self.maps}/m{number}"
                asked = self.client.merge(path, body) if round_number == "2" else self.client.post(self.maps, body)
                self.assertIn((await asked).code, (200, 201))
            await self.until_answered(program, round_number)
        struck = {rule["id"]: rule["struck"] for rule in (await self.client.get(RULES)).json["rules"]}
        self.assertGreater(sum(struck.values()), 5, struck)
        self.assertTrue(program.running, program.printed)

    async def until_answered(self, program: Program, wanted: str) -> None:
        """Wait until the operator has answered in every config map."""
        while True:
            self.assertTrue(program.running, program.printed)
            items = (await self.client.get(self.maps)).json["items"]
            if {each["data"].get("answered") for each in items if each["data"].get("asked")} == {wanted}:
                return
            await deferLater(reactor, 0.1)

