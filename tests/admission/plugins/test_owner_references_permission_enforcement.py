"""OwnerReferencesPermissionEnforcement (reference PLUG-4, PLUG-83)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.admission.chain import Chain
from orchtw.admission.plugins.owner_references_permission_enforcement import (
    MOST,
    OwnerReferencesPermissionEnforcement,
)
from orchtw.authz.decision import ALLOWED, Decision, UserRules
from orchtw.errors import Forbidden
from orchtw.registry.served_kinds import ServedKinds
from orchtw.request import RequestInfo, UserInfo
from orchtw.wire.objects import Object
from tests.admission.asked import attributes, host, pass_chain
from tests.verbs.served import PLUGIN, ServedCase

SPACE = {"namespace": "ns"}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "o", "uid": "1"}
BLOCKING = {**OWNER, "blockOwnerDeletion": True}
NODE = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "2", "blockOwnerDeletion": True}
NO_DELETE = "cannot set an ownerRef on a resource you can't delete: "
NO_FINALIZERS = (
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: "
)
NO_MAPPING = "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "

DELETE = ("delete", "", "pods", "", "ns", "x")
FINALIZERS = ("update", "apps", "replicasets", "finalizers", "ns", "o")
OF_NODE = ("update", "", "nodes", "finalizers", "", "n")


class Rights:
    """Allows what is in `allowed`, notes what is asked, and takes its time if told so."""

    def __init__(self, *allowed: tuple[str, ...], late: bool = False) -> None:
        self.allowed = allowed
        self.late = late
        self.asked: list[tuple[str, ...]] = []

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        asked = (info.verb, info.group, info.resource, info.subresource, info.namespace, info.name)
        self.asked.append(asked)
        found = ALLOWED if asked in self.allowed else Decision(None, "no rule", "one is missing")
        return succeed(found) if self.late else found

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        return UserRules()


def owned(*owners: Object, **more: Any) -> Object:
    return {"metadata": {"name": "x", "ownerReferences": list(owners), **more}}


def created(*owners: Object) -> Attributes:
    return attributes("CREATE", "pods", obj=owned(*owners), **SPACE)


def updated(old: Object, new: Object, **more: Any) -> Attributes:
    return attributes("UPDATE", "pods", old=old, obj=new, **SPACE, **more)


WHY = "no rule, one is missing"
ROWS: list[tuple[str, Attributes, tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...], str]] = [
    ("a create without owners", created(), (), (), ""),
    ("a create with one", created(OWNER), (), (), ""),
    ("a create that blocks", created(BLOCKING), (FINALIZERS,), (FINALIZERS,), ""),
    ("a create that may not block", created(BLOCKING), (), (FINALIZERS,), NO_FINALIZERS + WHY),
    ("an owner without namespace", created(NODE), (OF_NODE,), (OF_NODE,), ""),
    ("two owners", created(BLOCKING, NODE), (FINALIZERS,), (FINALIZERS, OF_NODE), NO_FINALIZERS + WHY),
    (
        "an unknown kind",
        created({**BLOCKING, "kind": "Nope"}),
        (),
        (),
        f'{NO_MAPPING}APIVersion apps/v1 Kind Nope: no matches for kind "Nope" in version "apps/v1"',
    ),
    (
        "an unknown version",
        created({**BLOCKING, "apiVersion": "apps/v9"}),
        (),
        (),
        f'{NO_MAPPING}APIVersion apps/v9 Kind ReplicaSet: no matches for kind "ReplicaSet" in version "apps/v9"',
    ),
    ("an unknown kind that does not block", created({**OWNER, "kind": "Nope"}), (), (), ""),
    ("an update of something else", updated(owned(BLOCKING), owned(BLOCKING, labels={"a": "b"})), (), (), ""),
    ("a new owner", updated(owned(), owned(OWNER)), (DELETE,), (DELETE,), ""),
    ("a new owner without the right", updated(owned(), owned(OWNER)), (), (DELETE,), NO_DELETE + WHY),
    ("an owner less", updated(owned(OWNER), owned()), (), (DELETE,), NO_DELETE + WHY),
    ("an owner that stays and blocks", updated(owned(BLOCKING), owned(BLOCKING, OWNER)), (DELETE,), (DELETE,), ""),
    (
        "an owner that begins to block",
        updated(owned(OWNER), owned(BLOCKING)),
        (DELETE,),
        (DELETE, FINALIZERS),
        NO_FINALIZERS + WHY,
    ),
    ("an owner that blocks no more", updated(owned(BLOCKING), owned(OWNER)), (DELETE,), (DELETE,), ""),
    ("the status of a pod", updated(owned(), owned(BLOCKING), subresource="status"), (), (), ""),
    (
        "another sub-resource",
        updated(owned(), owned(OWNER), subresource="ephemeralcontainers"),
        (),
        ((*DELETE[:3], "ephemeralcontainers", *DELETE[4:]),),
        NO_DELETE + WHY,
    ),
    ("a deletion", attributes("DELETE", "pods", old=owned(BLOCKING), **SPACE), (), (), ""),
]


class OwnerReferencesTests(SynchronousTestCase):
    """The plugin in a chain."""

    def passed(self, rights: Rights, asked: Attributes) -> Deferred[None]:
        kinds = ServedKinds(host().targets)
        return pass_chain(Chain([OwnerReferencesPermissionEnforcement(rights, kinds)]), asked)

    def test_rights(self) -> None:
        """Changes need their rights, from a synchronous authorizer and from an asynchronous one."""
        for late in (False, True):
            for what, asked, allowed, questions, why in ROWS:
                rights = Rights(*allowed, late=late)
                done = self.passed(rights, asked)
                if why:
                    message = self.failureResultOf(done, Forbidden).value.message
                    self.assertEqual(message, f'pods "x" is forbidden: {why}', what)
                else:
                    self.assertIsNone(self.successResultOf(done), what)
                self.assertEqual(tuple(rights.asked), questions, what)

    def test_bound(self) -> None:
        """One write asks a bounded number of questions."""
        many = [{**BLOCKING, "uid": str(number)} for number in range(MOST + 1)]
        rights = Rights(FINALIZERS)
        error = self.failureResultOf(self.passed(rights, created(*many)), Forbidden).value
        self.assertIn("at most 100 ownerReferences can set blockOwnerDeletion in one request", error.message)
        self.assertEqual(rights.asked, [])
        self.assertIsNone(self.successResultOf(self.passed(rights, created(*many[:MOST]))))

    def test_no_error(self) -> None:
        """An authorizer that has neither reason nor error is quoted as the reference server does."""
        rights = Rights()
        rights.authorize = lambda user, info: Decision(None)  # type: ignore[method-assign]
        error = self.failureResultOf(self.passed(rights, updated(owned(), owned(OWNER))), Forbidden).value
        self.assertTrue(error.message.endswith("you can't delete: , <nil>"))


class ServedTests(ServedCase):
    """The plugin in a whole server."""

    more = {  # noqa: RUF012
        "enable_admission_plugins": (PLUGIN, "OwnerReferencesPermissionEnforcement"),
        "authorization_mode": ("RBAC",),
    }

    def test_rules_of_roles(self) -> None:
        """An administrator may set what they like, and kinds that come later count too."""
        made = self.done("POST", "configmaps", {"metadata": {"name": "m", "ownerReferences": [BLOCKING]}})
        self.assertEqual(made["metadata"]["ownerReferences"], [BLOCKING])
        answer = self.send(
            "PUT",
            "configmaps/m",
            {"metadata": {"name": "m", "ownerReferences": [{**NODE, "kind": "Widget", "apiVersion": "a.b/v1"}]}},
        )
        self.assertEqual(answer.code, 403)
        self.assertIn('no matches for kind "Widget" in version "a.b/v1"', answer.json["message"])
