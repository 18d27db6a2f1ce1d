"""Availability of aggregated servers, and its notifications."""
# covers: orchtw.registry.aggregation.checks

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.services import ServiceReference
from orchtw.registry.aggregation.availability import INTERVAL_S, RETRY_S, SUSPECT_S, Availability
from orchtw.registry.aggregation.backends import BackendAnswer, Backends
from orchtw.registry.aggregation.checks import Checks
from orchtw.registry.aggregation.conditions import PASSED, AvailabilityVerdict, told
from orchtw.registry.aggregation.services import GROUP, PLURAL, VERSION
from orchtw.wire.objects import Object
from tests.registry.aggregation.doubles import Servers, answer
from tests.registry.aggregation.worlds import AggregationCase, api_service

PATH = "/apis/example.com/v1"
PORT: Object = {"name": "https", "port": 443}


class AvailabilityCase(AggregationCase):
    """A server that looks after the APIServices of its cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.servers = Servers()
        self.servers.answers[PATH] = answer()
        world = self.world
        checks = Checks(world.targets, cast(Backends, self.servers), world.naming)
        self.availability = Availability(self.services, checks, self.say, world.clock)
        self.availability.startService()
        self.addCleanup(self.availability.stopService)

    async def say(self, name: str, verdict: AvailabilityVerdict) -> None:
        now = self.ensurer.writes.timestamp()
        await self.ensurer.change_status(GROUP, VERSION, PLURAL, name, lambda status: told(status, verdict, now))

    def service(self, **spec: object) -> None:
        """Write the Service that the APIService names."""
        self.put("services", {"ports": [PORT], "clusterIP": "10.0.0.9", **spec}, "spec")

    def endpoints(self, *addresses: str, port: str = "https") -> None:
        """Write the Endpoints of the Service."""
        subsets = [{"addresses": [{"ip": each} for each in addresses], "ports": [{"name": port, "port": 8443}]}]
        self.put("endpoints", subsets if addresses else [], "subsets")

    def put(self, plural: str, value: object, member: str) -> None:
        """Create or change an object of the Service's name."""
        world, resource = self.world, self.world.resource(plural)
        if world.get(plural, "there") is None:
            world.run(world.client.create(resource, "a", {"metadata": {"name": "there"}, member: value}))
        else:
            world.run(world.client.patch(resource, "a", "there", {member: value}))
        world.settle()

    def looks(self) -> int:
        """Return the number of requests to the other server since the last call."""
        asked, self.servers.asked = self.servers.asked, []
        return len(asked)

    def assertCondition(self, status: str, reason: str, message: str) -> None:
        self.world.settle()
        self.assertEqual(self.condition(), {"status": status, "reason": reason, "message": message})


class ReasonTests(AvailabilityCase):
    def test_reasons(self) -> None:
        """From no Service to one that answers, each change is looked at when it happens (reference AGG-3)."""
        self.make(api_service())
        self.assertCondition("False", "ServiceNotFound", 'service/there in "a" is not present')
        self.service(ports=[{**PORT, "port": 80}])
        self.assertCondition("False", "ServicePortError", 'service/there in "a" is not listening on port 443')
        self.service()
        text = 'cannot find endpoints for service/there in "a"'
        self.assertCondition("False", "EndpointsNotFound", text)
        missing = 'endpoints for service/there in "a" have no addresses with port name "https"'
        self.endpoints()
        self.assertCondition("False", "MissingEndpoints", missing)
        self.endpoints("10.1.0.1", port="http")
        self.assertCondition("False", "MissingEndpoints", missing)
        self.assertEqual(self.looks(), 0)
        self.endpoints("10.1.0.1")
        self.assertCondition("True", "Passed", "all checks passed")

    def test_discovery(self) -> None:
        """The other server must answer for its part, to a request of the server's own (reference AGG-3)."""
        self.service(type="ExternalName", externalName="there.example.com", clusterIP="", ports=[])
        self.servers.answers[PATH] = answer(403)
        self.make(api_service())
        url = f"https://there.example.com:443{PATH}"
        text = f"failing or missing response from {url}: bad status from {url}: 403"
        self.assertCondition("False", "FailedDiscoveryCheck", text)
        self.servers.answers[PATH] = "EOF"
        self.world.settle(RETRY_S)
        text = f'failing or missing response from {url}: Get "{url}": EOF'
        self.assertCondition("False", "FailedDiscoveryCheck", text)
        self.assertEqual(self.servers.asked[0], (PATH, f"system:{self.world.naming.component_prefix}aggregator"))

    def test_several_places(self) -> None:
        """Of several places one that works is enough (reference AGG-3)."""
        replies: Iterator[BackendAnswer | str] = iter(["EOF", "EOF", answer(), "EOF", "EOF"])
        self.servers.answers[PATH] = lambda headers: next(replies)
        self.service()
        self.endpoints("10.1.0.1", "10.1.0.2")
        self.make(api_service())
        self.assertCondition("True", "Passed", "all checks passed")

    def test_local(self) -> None:
        """A local one is always available, also one that was remote before (reference AGG-2)."""
        self.make(api_service())
        self.world.settle()
        self.change("v1.example.com", {"spec": {"service": None, "insecureSkipTLSVerify": None}})
        self.assertCondition("True", "Local", "Local APIServices are always available")


class MappedTests(AvailabilityCase):
    """A server whose place the administrator has given (reference HOOK-36)."""

    def test_without_service(self) -> None:
        """It needs no Service, and is asked as any other."""
        self.servers.mapped.add(ServiceReference(namespace="a", name="there"))
        self.make(api_service())
        self.assertCondition("True", "Passed", "all checks passed")
        self.assertEqual(self.looks(), 1)

    def test_mapped_later(self) -> None:
        """A place that is given later is looked at soon, and so is its end."""
        self.make(api_service())
        self.assertCondition("False", "ServiceNotFound", 'service/there in "a" is not present')
        self.servers.mapped.add(ServiceReference(namespace="a", name="there"))
        self.availability.check_all()
        self.assertCondition("True", "Passed", "all checks passed")
        self.servers.mapped.clear()
        self.availability.check_all()
        self.assertCondition("False", "ServiceNotFound", 'service/there in "a" is not present')


class TimeTests(AvailabilityCase):
    def setUp(self) -> None:
        super().setUp()
        self.service(type="ExternalName", externalName="there.example.com", clusterIP="", ports=[])
        self.make(api_service())
        self.world.settle()

    def test_again(self) -> None:
        """An available server is checked every 30 s (reference AGG-3)."""
        self.assertEqual(self.looks(), 1)
        self.world.settle(INTERVAL_S - 1)
        self.assertEqual(self.looks(), 0)
        self.world.settle(1)
        self.assertEqual(self.looks(), 1)

    def test_after_failures(self) -> None:
        """An unavailable one is checked soon, then less and less often (reference AGG-15)."""
        self.servers.answers[PATH] = "EOF"
        self.world.settle(INTERVAL_S)
        self.assertEqual(self.looks(), 2)
        self.world.settle(RETRY_S)
        self.assertEqual(self.looks(), 1)
        self.world.settle(10 * INTERVAL_S)
        self.assertLess(self.looks(), 20)
        self.servers.answers[PATH] = answer()
        self.world.settle(INTERVAL_S)
        self.assertEqual(self.condition()["status"], "True")

    def test_suspected(self) -> None:
        """A request in trouble has it looked at, but not each of many (reference AGG-15)."""
        self.looks()
        service = self.services.all["v1.example.com"]
        self.world.clock.advance(SUSPECT_S)
        for _ in range(10):
            self.availability.suspect(service)
            self.world.settle()
        self.assertEqual(self.looks(), 1)

    def test_one_at_a_time(self) -> None:
        """A change during a look causes one more, and the old one's outcome is not told (reference AGG-3)."""
        slow: Deferred[BackendAnswer] = Deferred()
        self.servers.answers[PATH] = slow
        self.world.settle(INTERVAL_S)
        self.looks()
        self.change("v1.example.com", {"spec": {"insecureSkipTLSVerify": False}})
        self.world.settle()
        self.assertEqual(self.looks(), 0)
        self.servers.answers[PATH] = answer()
        slow.callback(answer(500))
        self.assertEqual(self.condition()["status"], "True")
        self.world.settle()
        self.assertEqual((self.looks(), self.condition()["status"]), (1, "True"))

    def test_gone(self) -> None:
        """A deleted one is looked at no more, nor is any after the end (reference AGG-3)."""
        self.delete("v1.example.com")
        self.looks()
        self.world.settle(2 * INTERVAL_S)
        self.assertEqual(self.looks(), 0)
        self.make(api_service())
        self.world.settle()
        self.looks()
        self.availability.stopService()
        self.world.settle(2 * INTERVAL_S)
        self.assertEqual(self.looks(), 0)
        self.availability.startService()


class ToldTests(SynchronousTestCase):
    def test_time(self) -> None:
        """The time is that of the last change of status, and nothing is written twice (reference AGG-3)."""
        first = told({}, AvailabilityVerdict("False", "ServiceNotFound", "x"), "1")
        assert first is not None
        second = told(first, AvailabilityVerdict("False", "MissingEndpoints", "y"), "2")
        assert second is not None
        self.assertEqual([each["lastTransitionTime"] for each in second["conditions"]], ["1"])
        third = told(second, PASSED, "3")
        assert third is not None
        self.assertEqual([each["lastTransitionTime"] for each in third["conditions"]], ["3"])
        self.assertIsNone(told(third, PASSED, "4"))
        more = told({"conditions": [{"type": "Other"}]}, PASSED, "5")
        assert more is not None
        self.assertEqual([each["type"] for each in more["conditions"]], ["Other", "Available"])
