"""Events as text, and their description of senders (reference AUDIT-1, AUDIT-11, AUDIT-16)."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.event import Event, json_lines, stamp
from orchtw.audit.legacy import legacy_line
from orchtw.audit.senders import MOST_ADDRESSES, source_ips, user_agent, user_object
from orchtw.request import Peer, Request, UserInfo
from tests.audit.events import members
from tests.properties import examples


def request(address: str = "10.0.0.9", **headers: str) -> Request:
    """A request with headers, whose names have underscores for dashes."""
    found = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method="GET", path="/x", headers=found, peer=Peer(address=address, port=1))


class EventTests(SynchronousTestCase):
    """Audit events and their lines (`Event`)."""

    def test_line(self) -> None:
        """A line is one object, kind and apiVersion first, its members in their order."""
        line = json_lines("audit.orch.io/v1")(Event.of(members()))
        found = orjson.loads(line)
        self.assertEqual(list(found.items()), [("kind", "Event"), ("apiVersion", "audit.orch.io/v1"),
                                               *members().items()])
        self.assertEqual((line[-2:], line.count(b"\n")), (b"}\n", 1))

    def test_without_objects(self) -> None:
        """An annotation, added to the existing ones, marks an event whose objects were left out."""
        event = Event.of(members(level="Request", requestObject=orjson.Fragment(b"{}"), responseObject={},
                              annotations={"a": "b"}))
        found = event.without_objects("audit.orch.io").members
        self.assertEqual(found["annotations"], {"a": "b", "audit.orch.io/truncated": "true"})
        self.assertEqual([name for name in found if "Object" in name], [])
        self.assertIn("requestObject", event.members)

    @examples(100)
    @given(st.text(st.characters(), max_size=20), st.text(st.characters(codec="utf-8"), max_size=20))
    def test_any_text(self, agent: str, plain: str) -> None:
        """Whatever a client sends becomes one line of JSON in UTF-8; what is UTF-8 stays as it is."""
        found = orjson.loads(Event.of(members(userAgent=agent, requestURI=plain, groups=(agent,))).json)
        self.assertEqual(found["requestURI"], plain)
        self.assertEqual(len(found["userAgent"]), len(agent))
        self.assertEqual(legacy_line(members(userAgent=agent)).count(b"\n"), 1)

    def test_half_characters(self) -> None:
        """Half a character, which JSON strings can hold, is replaced."""
        self.assertEqual(orjson.loads(Event.of(members(userAgent="a\ud800b")).json)["userAgent"], "a\ufffdb")

    def test_stamps(self) -> None:
        """Times have six digits behind the second, in UTC."""
        for seconds, text in ((0.0, "1970-01-01T00:00:00.000000Z"), (1651579200.25, "2022-05-03T12:00:00.250000Z")):
            self.assertEqual(stamp(seconds), text)


class LegacyTests(SynchronousTestCase):
    """Audit lines in the legacy format (`legacy_line`)."""

    def test_whole(self) -> None:
        """The event of an answered request of an impersonating user has all fields."""
        event = members(
            user={"username": "amy", "groups": ["a", "b"]},
            impersonatedUser={"username": "bob", "groups": ["c"]},
            userAgent='x"y',
            objectRef={"resource": "pods", "namespace": "n"},
            responseStatus={"code": 200},
        )
        self.assertEqual(
            legacy_line(event).decode(),
            '2022-05-03T12:00:00.12Z AUDIT: id="id-1" stage="ResponseComplete" ip="10.0.0.1" method="list" '
            'user="amy" groups="\\"a\\",\\"b\\"" as="bob" asgroups="\\"c\\"" user-agent="x\\"y" namespace="n" '
            'uri="/api/v1/pods" response="200"\n',
        )

    def test_empty(self) -> None:
        """Unknown values are shown as placeholders such as `<unknown>` and `<none>`."""
        noon = "2022-05-03T12:00:00.000000Z"
        event = members(user={}, sourceIPs=[], stage="RequestReceived", requestReceivedTimestamp=noon)
        self.assertEqual(
            legacy_line(event).decode(),
            '2022-05-03T12:00:00Z AUDIT: id="id-1" stage="RequestReceived" ip="<unknown>" method="list" '
            'user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" '
            'uri="/api/v1/pods" response="<deferred>"\n',
        )


class SenderTests(SynchronousTestCase):
    """Fields about the sender (`source_ips` and related functions)."""

    def test_addresses(self) -> None:
        """The forwarders, the real address unless it is one of them, the peer unless it is the last."""
        for headers, expected in (
            ({}, ["10.0.0.9"]),
            ({"x_forwarded_for": "1.1.1.1, 2.2.2.2"}, ["1.1.1.1", "2.2.2.2", "10.0.0.9"]),
            ({"x_forwarded_for": "1.1.1.1,nonsense, ::1"}, ["1.1.1.1", "::1", "10.0.0.9"]),
            ({"x_forwarded_for": "1.1.1.1", "x_real_ip": "1.1.1.1"}, ["1.1.1.1", "10.0.0.9"]),
            ({"x_real_ip": "3.3.3.3"}, ["3.3.3.3", "10.0.0.9"]),
            ({"x_forwarded_for": "10.0.0.9"}, ["10.0.0.9"]),
        ):
            self.assertEqual(source_ips(request(**headers)), expected)
        self.assertEqual(source_ips(request(address="")), [])

    def test_many_addresses(self) -> None:
        """A header as long as a head can be costs no more than a few addresses."""
        found = source_ips(request(x_forwarded_for=",".join(["1.1.1.1"] * 100_000)))
        self.assertEqual(len(found), MOST_ADDRESSES + 1)

    def test_agents(self) -> None:
        """A long name is cut, and says so; bytes are read as UTF-8."""
        self.assertEqual(user_agent(request(user_agent="x" * 1025)), "x" * 1024 + "...TRUNCATED")
        self.assertEqual(user_agent(request(user_agent="Ã¤")), "ä")

    def test_users(self) -> None:
        """Absent fields of a user are left out; no user is an empty object."""
        amy = UserInfo(name="amy", uid="1", groups=("g",), extra={"k": ("v",)})
        shown = {"username": "amy", "uid": "1", "groups": ("g",), "extra": {"k": ("v",)}}
        self.assertEqual((user_object(amy), user_object(UserInfo(name="x"))), (shown, {"username": "x"}))
        self.assertEqual(user_object(None), {})
