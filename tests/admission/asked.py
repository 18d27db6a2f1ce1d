"""Writes as plugins see them, over the surface of the orch vocabulary and without a server."""

from __future__ import annotations

from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.chain import Chain
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.authz.fixed import AlwaysDeny
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.request import Peer, Request, UserInfo
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object
from orchtw.writes.object_interfaces import ServedSurface
from tests.client.world import MemoryStore, surface

NAMING, CATALOGUE, CODECS = surface("orch")
SURFACE = ServedSurface(Targets(CATALOGUE, CODECS, CATALOGUE.resources), NAMING, Offload(None))


def resource(plural: str, group_version: str = "v1") -> ResourceType:
    """A resource of the release."""
    group, _, version = group_version.rpartition("/")
    found = CATALOGUE.find(group, version, plural)
    assert found is not None
    return found


def attributes(operation: Operation, plural: str, group_version: str = "v1", **more: Any) -> Attributes:
    """A write by bob of the object named x."""
    given: dict[str, Any] = {"namespace": "", "name": "x", "user": UserInfo(name="bob"), **more}
    return Attributes(operation=operation, resource=resource(plural, group_version), surface=SURFACE, **given)


def request() -> Request:
    """A request that warnings and annotations may be added to."""
    return Request(method="POST", path="/", peer=Peer(address="test", port=0))


def canonical(api_version: str, kind: str, obj: Object) -> Object:
    """`obj` with the defaults of its kind."""
    codec = CODECS.kind(api_version, kind)
    found = codec.normalise(obj)
    codec.set_defaults(found)
    return found


def host(**more: Any) -> AdmissionHost:
    """Return an admission host without rights and without outbound calls."""

    async def make_namespace(name: str) -> None:
        raise AssertionError(f"namespace {name} is made")

    given: dict[str, Any] = {
        "naming": NAMING,
        "clock": Clock(),
        "random": Random(1),
        "targets": Targets(CATALOGUE, CODECS, CATALOGUE.resources),
        "authorizer": AlwaysDeny(),
        "caller": None,
        "make_namespace": make_namespace,
        "store": MemoryStore(Clock()),
        "offload": Offload(None),
        **more,
    }
    return AdmissionHost(**given)


def configured(obj: Object, directory: str = "/etc/orch") -> Given:
    """A configuration as a file `plugin.yaml` gives it."""
    return Given(obj=obj, path=f"{directory}/plugin.yaml", directory=directory)


def pass_chain(chain: Chain, asked: Attributes) -> Deferred[None]:
    """Run both halves of admission."""
    plan = chain.plan(asked.operation, asked.resource, asked.subresource)
    return Deferred.fromCoroutine(plan.both(asked))
