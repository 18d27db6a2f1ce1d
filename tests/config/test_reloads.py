"""Reloads on SIGHUP, and the log lines about them and about refused credentials."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.refused_log import LINES, WINDOW_S, RefusedLog
from orchtw.authn.token_file import TokenFile
from orchtw.config.reloads import Reloads
from orchtw.errors import ConfigError
from orchtw.request import Peer, Request


class LoggedCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.lines: list[str] = []
        observe: Any = self.observe
        globalLogPublisher.addObserver(observe)
        self.addCleanup(globalLogPublisher.removeObserver, observe)

    def observe(self, event: dict[str, object]) -> None:
        if isinstance(event.get("log_format"), str):
            self.lines.append(str(event["log_format"]).format(**event))


class ReloadsTests(LoggedCase):
    def test_one(self) -> None:
        """One thing can be read by itself, and nothing of a name that is not there (reference AUTHN-38)."""
        read: list[str] = []
        reloads = Reloads()
        for what in ("--a", "--b"):
            reloads.add(what, partial(read.append, what))
        reloads.read("--b")
        reloads.read("--c")
        self.assertEqual(read, ["--b"])

    def test_one_failure_does_not_stop_the_others(self) -> None:
        """Each file is reloaded and logged; one that is unusable, or fails, is named."""
        reloads, seen = Reloads(), []

        def unusable() -> None:
            raise ConfigError("x.crt: holds no readable PEM certificate")

        def broken() -> None:
            raise RuntimeError("bug")

        reloads.add("a", unusable)
        reloads.add("b", broken)
        reloads.add("c", lambda: seen.append("c"))
        reloads.run()
        self.assertEqual((seen, len(self.flushLoggedErrors(RuntimeError))), (["c"], 1))
        self.assertIn("reload: keeping the old a: x.crt: holds no", "\n".join(self.lines))
        self.assertIn("reload: reread c", self.lines)

    def test_nothing_to_read(self) -> None:
        """The log says so."""
        Reloads().run()
        self.assertIn("no flag names a file", self.lines[0])


class TokenFileTests(SynchronousTestCase):
    def test_read_again(self) -> None:
        """New tokens count and old ones do not, once the file has been read; a bad file changes nothing."""
        path = Path(self.mktemp())
        path.write_text("one,ann,1\n")
        file = TokenFile(path, b"k" * 32)
        path.write_text("two,ann,1\n")
        self.assertIsNone(file.find("two"))
        file.read()
        self.assertIsNotNone(file.find("two"))
        self.assertIsNone(file.find("one"))
        path.write_text("three\n")
        error = self.assertRaises(ConfigError, file.read)
        self.assertTrue(error.problems[0].startswith("--token-auth-file: "))
        self.assertIsNotNone(file.find("two"))


class RefusedLogTests(LoggedCase):
    def refuse(self, log: RefusedLog, *reasons: str) -> None:
        peer = Peer(address="10.0.0.1", port=7)
        headers = {"authorization": "Bearer s3cret"}
        request = Request(method="GET", path='/api"\n', query="t=s3cret", headers=headers, peer=peer)
        log.refused(request, list(reasons))

    def test_line(self) -> None:
        """The reason, who and what; no token, no query, nothing that forges a line (reference AUTHN-5)."""
        log = RefusedLog(Clock())
        self.refuse(log, "invalid bearer token")
        self.refuse(log)
        expected = 'refused with 401: invalid bearer token (from 10.0.0.1:7, GET "/api\\"\\n")'
        self.assertEqual(self.lines[0], expected)
        self.assertIn("refused with 401: no credentials", self.lines[1])
        self.assertNotIn("s3cret", "".join(self.lines))

    def test_bounded(self) -> None:
        """So many lines in a window; the next window begins with the count of what was left out."""
        clock = Clock()
        log = RefusedLog(clock)
        for _ in range(LINES + 5):
            self.refuse(log, "x")
        self.assertEqual(len(self.lines), LINES)
        clock.advance(WINDOW_S)
        self.refuse(log, "x")
        self.assertEqual(self.lines[LINES], "refused with 401: 5 more requests")
