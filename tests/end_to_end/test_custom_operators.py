"""Operators with a kind of their own, killed and restarted like the server itself (reference CLIENT-1, CRD-8)."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.task import deferLater

from orchtw.naming.naming import Naming
from orchtw.testing.process import environment
from orchtw.wire.objects import Object
from tests.definitions.build import in_vocabulary
from tests.end_to_end.case import reactor
from tests.end_to_end.definitions import is_true
from tests.end_to_end.operators.bakery import PLURAL, bakery
from tests.end_to_end.test_start import ProcessCase
from tests.end_to_end.test_store import own_port

GROUP = "bread.example.com"
FOLDER = Path(__file__).with_name("operators")
NAMESPACE = "town"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = f"{DEFINITIONS}/{PLURAL}.{GROUP}"
BAKERIES = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/{PLURAL}"
OLD_BAKERIES = f"/apis/{GROUP}/v1beta1/namespaces/{NAMESPACE}/{PLURAL}"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
LEDGER = f"/api/v1/namespaces/{NAMESPACE}/configmaps/ledger"
PATIENCE_S = 60.0
LOOK_S = 0.1


def missing(*packages: str) -> str | None:
    """Return the reason for skipping a test without these packages."""
    absent = [each for each in packages if importlib.util.find_spec(each) is None]
    return f"not installed (extra `test`): {', '.join(absent)}: not run" if absent else None


class Program(ProcessProtocol):
    """A running operator; what it prints is kept."""

    def __init__(self, command: list[str], variables: dict[str, str]) -> None:
        self.printed = ""
        self._ended: Deferred[None] = Deferred()
        reactor.spawnProcess(self, sys.executable, [sys.executable, *command], {**environment(), **variables})

    @property
    def running(self) -> bool:
        """Report whether the object exists."""
        return not self._ended.called

    def kill(self) -> Deferred[None]:
        """End it without notice; fires when it has ended."""
        if self.running and self.transport is not None:
            self.transport.signalProcess("KILL")
        return self._ended

    def outReceived(self, data: bytes) -> None:
        self.printed += data.decode(errors="replace")

    errReceived = outReceived

    def processEnded(self, reason: Any) -> None:
        self._ended.callback(None)


class OperatorCase(ProcessCase):
    """One story for any operator of bakeries."""

    timeout = 240
    command: list[str] = []

    async def setUp(self) -> None:  # type: ignore[override]
        self.api = self.server("--vocabulary=kubernetes", f"--secure-port={own_port()}")
        await self.api.start()
        self.user = self.client(self.api)

    def start_operator(self) -> Program:
        """Run the operator, until the end of the test at the latest."""
        variables = {
            "KUBECONFIG": str(self.api.kubeconfig), "BAKERY_GROUP": GROUP, "BAKERY_NAMESPACE": NAMESPACE
        }  # fmt: skip
        program = Program(self.command, variables)
        self.addCleanup(program.kill)
        return program

    async def test_story(self) -> None:
        """Created, reconciled, scaled, finalised; the operator killed meanwhile, then the server; then no kind."""
        await self.prepare()
        program = self.start_operator()
        await self.make(BAKERIES, "corner", ovens=2)
        await self.baking("corner", 2, program)
        answer = await self.user.merge(f"{BAKERIES}/corner/scale", {"spec": {"replicas": 4}})
        self.assertEqual(answer.code, 200, answer)
        await self.baking("corner", 4, program)
        await program.kill()
        await self.while_away()
        program = self.start_operator()
        await self.until("the deleted one is let go", self.gone(f"{BAKERIES}/corner"), program)
        await self.until("what it owned goes", self.gone(f"{DEPLOYMENTS}/corner"), program)
        self.assertEqual((await self.user.get(LEDGER)).json["data"], {"corner": "closed"})
        await self.baking("night", 3, program)
        self.assertEqual(await self.api.kill9(), -9)
        await self.api.start()
        self.user = self.client(self.api)
        await self.user.merge(f"{BAKERIES}/night", {"spec": {"ovens": 5}})
        await self.baking("night", 5, program)
        await self.user.delete(DEFINITION)
        await self.until("the kind goes", self.gone(DEFINITION), program)
        self.assertEqual((await self.user.get(LEDGER)).json["data"], {"corner": "closed", "night": "closed"})
        self.assertTrue(program.running, program.printed)
        for word in ("Traceback", "Unhandled"):
            self.assertNotIn(word, self.api.log + self.api.errors)

    async def prepare(self) -> None:
        """The kind, a namespace and the ledger."""
        await self.user.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        await self.user.post(LEDGER.rpartition("/")[0], {"metadata": {"name": "ledger"}})
        made = await self.user.post(DEFINITIONS, in_vocabulary(bakery(GROUP), Naming.kubernetes()))
        self.assertEqual(made.code, 201, made)

        async def established() -> bool:
            live = (await self.user.get(DEFINITION)).json
            return is_true(live, "Established") and (await self.user.get(BAKERIES)).code == 200

        await self.until("the kind is there", established)

    async def while_away(self) -> None:
        """A deletion that waits for the operator, a new object in another version."""
        self.assertEqual((await self.user.delete(f"{BAKERIES}/corner")).code, 200)
        held = (await self.user.get(f"{BAKERIES}/corner")).json["metadata"]
        self.assertTrue(held["finalizers"] and held["deletionTimestamp"])
        await self.make(OLD_BAKERIES, "night", ovens=3)

    async def make(self, collection: str, name: str, **spec: Any) -> None:
        group_version = "/".join(collection.split("/")[2:4])
        about = {"apiVersion": group_version, "kind": "Bakery", "metadata": {"name": name}}
        answer = await self.user.post(collection, {**about, "spec": {"flour": "rye", **spec}})
        self.assertEqual(answer.code, 201, answer)

    async def baking(self, name: str, ovens: int, program: Program) -> None:
        """The operator has seen the wish, told so in the status, and made the deployment follow."""

        async def reached() -> bool:
            live: Object = (await self.user.get(f"{BAKERIES}/{name}")).json
            status = live.get("status") or {}
            if (status.get("ovens"), status.get("observedGeneration")) != (ovens, live["metadata"]["generation"]):
                return False
            deployment = (await self.user.get(f"{DEPLOYMENTS}/{name}")).json
            owners = [each["uid"] for each in deployment["metadata"]["ownerReferences"]]
            return bool(deployment["spec"]["replicas"] == ovens and owners == [live["metadata"]["uid"]])

        await self.until(f"{name} has {ovens} ovens", reached, program)
        scale = (await self.user.get(f"{BAKERIES}/{name}/scale")).json
        expected = ({"replicas": ovens}, {"replicas": ovens, "selector": f"bakery={name}"})
        self.assertEqual((scale["spec"], scale["status"]), expected)

    def gone(self, path: str) -> Callable[[], Awaitable[bool]]:
        async def reached() -> bool:
            return (await self.user.get(path)).code == 404

        return reached

    async def until(self, what: str, reached: Callable[[], Awaitable[bool]], program: Program | None = None) -> None:
        """Look again and again; fails with what the operator has printed."""
        end = reactor.seconds() + PATIENCE_S
        while not await reached():
            printed = program.printed[-3000:] if program else ""
            self.assertLess(reactor.seconds(), end, f"not reached: {what}\n{printed}")
            await deferLater(reactor, LOOK_S, lambda: None)


class KopfTests(OperatorCase):
    """kopf keeps its own notes in annotations and in a finalizer."""

    skip = missing("kopf", "kubernetes")
    command = ["-m", "kopf", "run", "--standalone", f"--namespace={NAMESPACE}", str(FOLDER / "with_kopf.py")]


class ClientTests(OperatorCase):
    """The public Python client, with the usual loop."""

    skip = missing("kubernetes")
    command = ["-m", "tests.end_to_end.operators.with_client"]


del OperatorCase
