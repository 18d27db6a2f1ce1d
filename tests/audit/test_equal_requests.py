"""Events of equal requests are those that the auditor makes of each."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.equal_requests import EqualRequests
from orchtw.audit.policy import COMPLETE, METADATA, RECEIVED, REQUEST, PolicyOutcome
from orchtw.authz.decision import Decision
from orchtw.request import Peer, Request, UserInfo
from orchtw.rules.request_info import parse
from tests.filters.audit_case import START_S, AuditStageCase
from tests.properties import examples

NAMES = st.from_regex(r"[a-zA-Z0-9.:_-]{1,20}", fullmatch=True)
PLACES = st.sampled_from(("/api/v1/namespaces/n/pods/", "/api/v1/nodes/", "/apis/apps/v1/namespaces/n/deployments/"))
TEXTS = st.text(max_size=8)
OMITTED = st.sets(st.sampled_from((RECEIVED, COMPLETE)))
AGENTS = st.text(st.characters(max_codepoint=255), max_size=8)
QUERIES = st.sampled_from(("", "resourceVersion=0", 'a="b\\'))


class EqualRequestsTests(AuditStageCase, SynchronousTestCase):
    """The short way of `EqualRequests` beside `Auditor.all_at_once`."""

    @given(PLACES, NAMES, NAMES, QUERIES, AGENTS, TEXTS, OMITTED, st.booleans())
    @examples(200)
    def test_same_events(
        self, place: str, first: str, name: str, query: str, who: str, why: str, omitted: set[str], decided: bool
    ) -> None:
        """Made of one request, the events of another are the same bytes, in the same order."""
        auditor = self.auditor()
        self.now_s = START_S + 1.25
        outcome = PolicyOutcome(level=REQUEST if decided else METADATA, omit_stages=frozenset(omitted))
        decision = Decision(True, why) if decided else None

        def request(name: str) -> Request:
            user, peer = UserInfo(name=who, groups=(why,)), Peer(address="192.0.2.1", port=1)
            made = Request(method="GET", path=place + name, query=query, headers={"user-agent": who}, peer=peer)
            made.info, made.user, made.authenticated = parse("GET", place + name, {}), user, user
            made.audit_id, made.decision, made.received_s = "id", decision, START_S
            return made

        def events(work: Any) -> list[bytes]:
            before = len(self.sink.shown)
            work()
            return [orjson.dumps(event) for event in self.sink.shown[before:]]

        equal = EqualRequests(auditor, request(first), outcome)
        told = events(lambda: equal.tell("id", name, 1.25))
        self.assertEqual(told, events(lambda: auditor.all_at_once(request(name), outcome, 200)))
        self.assertGreater(equal.size, 2 * len(why.encode()))
        self.assertEqual((len(told), auditor.counts.events), (2 - len(omitted), 2 * (2 - len(omitted))))
