"""Logs of pods, read from node agents (reference PROXY-3 to PROXY-5, PROXY-7)."""
# covers: orchtw.proxy.log_options

from __future__ import annotations

from orchtw.outbound.dialer import Unreachable
from orchtw.testing.in_process import ClientAnswer
from tests.proxy.backend_case import UPGRADE, ConnectionCase, answer

TIME = "2022-05-03T00:00:00Z"


class LogTests(ConnectionCase):
    """Requests to sub-resource `pods/log`."""

    def test_log(self) -> None:
        """Text, from the agent at the node's address and the default port, by HTTPS."""
        got: ClientAnswer = self.send("GET", "pods/p/log")
        self.assertEqual((got.code, got.body, got.headers["content-type"]), (200, b"ok", "text/plain"))
        (agent,) = self.backend.dialled
        self.assertEqual((agent.scheme, agent.host, agent.port, agent.public), ("https", "10.0.0.9", 10250, False))
        self.assertEqual(self.asked(), "GET /containerLogs/default/p/c HTTP/1.1")
        self.assertNotIn("uthorization", "".join(self.asked_headers()))

    def test_options(self) -> None:
        """Each goes along in the agent's words."""
        options = f"follow=true&previous=1&timestamps&sinceTime={TIME}&tailLines=0&limitBytes=9&container=c&pretty=1"
        self.send("GET", f"pods/p/log?{options}")
        query = (
            "follow=true&limitBytes=9&previous=true&sinceTime=2022-05-03T00%3A00%3A00Z&tailLines=0&timestamps=true"
        )
        self.assertEqual(self.asked(), f"GET /containerLogs/default/p/c?{query} HTTP/1.1")
        self.send("GET", "pods/p/log?follow=false&sinceSeconds=5&sinceTime=")
        self.assertEqual(self.asked(), "GET /containerLogs/default/p/c?sinceSeconds=5 HTTP/1.1")

    def test_wrong_options(self) -> None:
        """422 with a cause for each, 400 for what cannot be read (reference PROXY-3)."""
        prefix = 'PodLogOptions "p" is invalid: '
        positive = "must be greater than 0"
        for query, message in (
            ("tailLines=-1", "tailLines: Invalid value: -1: must be greater than or equal to 0"),
            ("limitBytes=0", f"limitBytes: Invalid value: 0: {positive}"),
            ("sinceSeconds=0", f"sinceSeconds: Invalid value: 0: {positive}"),
        ):
            self.refused(f"pods/p/log?{query}", 422, prefix + message)
        both = self.send("GET", f"pods/nope/log?sinceSeconds=1&sinceTime={TIME}&limitBytes=-1")
        self.assertEqual((both.code, len(both.json["details"]["causes"])), (422, 2))
        self.assertIn("at most one of `sinceTime` or `sinceSeconds` may be specified", both.json["message"])
        self.refused("pods/p/log?tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax')
        huge = "9" * 30
        self.refused(f"pods/p/log?tailLines={huge}", 400, f'strconv.ParseInt: parsing "{huge}": value out of range')
        self.assertEqual(self.code("GET", "pods/p/log?sinceTime=now"), 400)
        self.assertEqual(self.backend.dialled, [])

    def test_container(self) -> None:
        """Required where there are several, and one that the pod has (reference PROXY-4)."""
        init = [{"name": "i", "image": "i"}]
        self.pod("two", containers=("a", "b"), initContainers=init)
        text = "a container name must be specified for pod two, choose one of: [i a b]"
        self.refused("pods/two/log", 400, text)
        self.refused("pods/two/log?container=x", 400, "container x is not valid for pod two")
        self.assertEqual(self.code("GET", "pods/two/log?container=i"), 200)
        self.refused("pods/two/exec", 400, text, headers=UPGRADE)

    def test_without_node(self) -> None:
        """No content (reference PROXY-5)."""
        self.pod("waiting", containers=("c",), node="")
        self.assertEqual((self.code("GET", "pods/waiting/log"), self.backend.dialled), (204, []))

    def test_missing(self) -> None:
        """A pod or a node that is not there is a 404."""
        self.refused("pods/nope/log", 404, 'pods "nope" not found')
        self.pod("lost", containers=("c",), node="gone")
        self.refused("pods/lost/log", 404, 'nodes "gone" not found')

    def test_unreachable(self) -> None:
        """The address that was tried is named; it is not a reason of the API's (reference PROXY-7)."""
        self.backend.trouble = Unreachable("dial tcp 10.0.0.9:10250: connect: connection refused")
        url = "https://10.0.0.9:10250/containerLogs/default/p/c"
        status = self.refused("pods/p/log", 500, f'Get "{url}": dial tcp 10.0.0.9:10250: connect: connection refused')
        self.assertNotIn("reason", status)

    def test_agent_refuses(self) -> None:
        """Its code and what stands for its text."""
        for head, code, message, reason in (
            ("400 x", 400, "because", "BadRequest"),
            ("500 x", 500, "Internal error occurred: because", "InternalError"),
            ("404 x", 404, "the server could not find the requested resource ( pods/log p)", "NotFound"),
            ("403 x", 403, "because ( pods/log p)", "Forbidden"),
            (
                "502 x",
                502,
                'an error on the server ("because") has prevented the request from succeeding ( pods/log p)',
                "InternalError",
            ),
        ):
            self.reply = answer(b"because", head)
            self.assertEqual(self.refused("pods/p/log", code, message)["reason"], reason)
        self.reply = answer(b"", "302 Found", "Location: https://10.0.0.1/")
        url = "https://10.0.0.9:10250/containerLogs/default/p/c"
        self.refused("pods/p/log", 500, f'Get "{url}": redirects forbidden')

    def test_cut(self) -> None:
        """A log that is cut off ends the connection: nobody takes it for the whole."""
        self.reply = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"

        def cut() -> None:
            for exchange in self.backend.exchanges:
                exchange.readConnectionLost()

        self.clock.callLater(0, cut)
        self.clock.callLater(0, lambda: self.clock.callLater(0, cut))
        with self.assertRaises(ConnectionError):
            self.send("GET", "pods/p/log")

    def test_whatever_is_accepted(self) -> None:
        """A client that accepts only text gets it."""
        self.assertEqual(self.code("GET", "pods/p/log", None, {"accept": "text/plain"}), 200)
