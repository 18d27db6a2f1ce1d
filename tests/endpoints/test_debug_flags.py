"""`/debug/flags/` and `/logs/` (reference OPS-19, OPS-20)."""
# covers: orchtw.endpoints.log_files

from __future__ import annotations

import os
from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.endpoints.debug_flags import DebugFlags
from orchtw.endpoints.log_files import LogFiles
from orchtw.endpoints.paths import Paths
from orchtw.logs.verbosity import Verbosity
from orchtw.request import Ending, Peer, Request, Response


class EndpointCase(SynchronousTestCase):
    """Asks through the paths."""

    paths: Paths

    def ask(self, path: str, method: str = "GET", body: bytes = b"") -> Response:
        """Return the answer to a request."""
        request = Request(method=method, path=path, body=body, peer=Peer(address="", port=0))
        return self.successResultOf(Deferred.fromCoroutine(self.paths(request)))

    def text(self, path: str, method: str = "GET", body: bytes = b"") -> tuple[int, str]:
        """Code and body of the answer, which is let go of."""
        answer = self.ask(path, method, body)
        assert isinstance(answer.body, bytes)
        whole = answer.body if answer.parts is None else b"".join(answer.parts)
        answer.end(Ending.COMPLETE)
        return answer.code, whole.decode()


class DebugFlagsTests(EndpointCase):
    """Debug flags over HTTP (`DebugFlags`)."""

    def setUp(self) -> None:
        self.verbosity = Verbosity(1)
        self.paths = Paths([DebugFlags(self.verbosity)])

    def test_set(self) -> None:
        """PUT of a number sets the verbosity and says so."""
        done = "successfully set klog.logging.verbosity to 4"
        self.assertEqual(self.text("/debug/flags/v", "PUT", b"4"), (200, done))
        self.assertEqual(self.verbosity.level, 4)

    def test_several_processes(self) -> None:
        """With several processes, all get the new value (reference OPS-19)."""
        told: list[int] = []

        class Processes:
            async def set_level(self, level: int) -> None:
                told.append(level)

        self.paths = Paths([DebugFlags(self.verbosity, Processes)])
        self.assertEqual(self.text("/debug/flags/v", "PUT", b"4")[0], 200)
        self.assertEqual(told, [4])

    def test_refused(self) -> None:
        """A body that is not a number is a 400 and changes nothing; other methods are 406."""
        for body in (b"", b"x", b"-1", b"1" * 1000, "٣".encode(), b"\xff\n"):
            code, text = self.text("/debug/flags/v", "PUT", body)
            self.assertEqual((code, text[:36]), (400, "failed set klog.logging.verbosity " + text[34:36]))
        self.assertEqual(self.text("/debug/flags/v"), (406, "unsupported http method"))
        self.assertEqual(self.verbosity.level, 1)

    def test_index(self) -> None:
        """The flags are listed, but not in the server's index."""
        self.assertEqual(self.text("/debug/flags/"), (200, "/debug/flags/v\n"))
        self.assertNotIn("debug", self.text("/")[1])


class LogFilesTests(EndpointCase):
    """Log files over HTTP (`LogFiles`)."""

    def setUp(self) -> None:
        self.folder = folder = Path(self.mktemp())
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "a b.log").write_text("line\n" * 100_000)
        (folder.parent / "secret").write_text("secret")
        (folder / "out").symlink_to(folder.parent / "secret")
        (folder / "in").symlink_to("sub/a b.log")
        os.mkfifo(folder / "pipe")
        self.paths = Paths([], {"/logs": LogFiles(folder)})

    def test_listing(self) -> None:
        """A folder's entries are links."""
        code, text = self.text("/logs/")
        self.assertEqual((code, '<a href="sub/">sub/</a>\n' in text), (200, True))
        self.assertEqual(self.text("/logs/sub/")[1], '<pre>\n<a href="a%20b.log">a b.log</a>\n</pre>\n')
        self.assertIn('"/logs"', self.text("/")[1])

    def test_files(self) -> None:
        """A file is sent as it is, by a link inside as well, in pieces."""
        for name in ("sub/a%20b.log", "in"):
            self.assertEqual(self.text(f"/logs/{name}"), (200, "line\n" * 100_000))

    def test_not_found(self) -> None:
        """A path outside the folder, or to neither a file nor a folder, is a 404."""
        for name in ("out", "../secret", "%2e%2e/secret", "sub/%2e%2e/%2e%2e/secret", "pipe", "none", "a%00b"):
            self.assertEqual(self.text(f"/logs/{name}")[0], 404, name)
        self.assertEqual(self.ask("/logsx").code, 404)
