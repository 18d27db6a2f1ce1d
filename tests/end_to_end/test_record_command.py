"""The real `orch-record` beside real servers that record their writes."""
# covers: orchtw.commands.record.command, orchtw.commands.record.connection

from __future__ import annotations

import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.internet.utils import getProcessOutputAndValue

from orchtw.exports.writing import WITHHELD
from orchtw.testing.process import ServerProcess, environment
from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase, reactor
from tests.end_to_end.client import Client
from tests.end_to_end.test_start import ProcessCase
from tests.forked import forking

COMMAND = (sys.executable, "-m", "orchtw.commands.record")
KUBERNETES = "--vocabulary=kubernetes"
HISTORY = "--enable-history"
DEFINITION = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "things", "kind": "Thing"},
        "scope": "Namespaced",
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }],
    },
}  # fmt: skip


def environ(**more: str) -> dict[str, str]:
    """The environment of a command, in which nothing leads to a server or to colours."""
    kept = {name: value for name, value in environment().items() if name not in ("KUBECONFIG", "NO_COLOR", "TERM")}
    return {**kept, "PYTHONIOENCODING": "utf-8", **more}


async def orch_record(server: ServerProcess | None, *arguments: object, **variables: str) -> tuple[int, str, str]:
    """Exit status, output and errors of the command on a server; without one, in a folder that has none."""
    given = [] if server is None else [f"--kubeconfig={server.kubeconfig}"]
    words = [*COMMAND[1:], *map(str, arguments), *given]
    output, errors, status = await getProcessOutputAndValue(
        sys.executable, words, environ(**variables), None if server else "/", reactor=forking
    )
    return status, output.decode(), errors.decode()


class Running:
    """A command that runs, and what it has printed by now; on a terminal if it is to have one."""

    def __init__(self, server: ServerProcess, *arguments: str, terminal: bool = False, **variables: str) -> None:
        words = [*COMMAND, *arguments, f"--kubeconfig={server.kubeconfig}"]
        ours, theirs = pty.openpty() if terminal else os.pipe()
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, env=environ(**variables)
        )
        os.close(theirs)
        self._ours = ours

    async def until(self, wanted: Callable[[str], bool]) -> str:
        """Return the output once it is as wanted, or at the end."""
        text = b""
        while not wanted(text.decode(errors="replace")):
            try:
                piece = await deferToThread(os.read, self._ours, 65536)
            except OSError:  # so a terminal ends
                break
            if not piece:
                break
            text += piece
        return text.decode()

    async def ended(self, number: int = 0) -> tuple[int, str]:
        """Send a signal and wait for the end; returns exit status and errors."""
        if number:
            self.process.send_signal(number)
        await self.until(lambda text: False)
        _, errors = await deferToThread(self.process.communicate)
        os.close(self._ours)
        return self.process.returncode, errors.decode()


class CommandCase(ServerCase):
    """The command on a server that records."""

    vocabulary = "kubernetes"
    flags = (HISTORY, "--controllers=*,-root-ca-cert-publisher")

    async def run_ok(self, *arguments: object, **variables: str) -> str:
        """The output of a command that succeeds."""
        status, output, errors = await orch_record(self.server, *arguments, **variables)
        self.assertEqual((status, errors), (0, ""))
        return output

    async def refused(self, *arguments: object, server: ServerProcess | None = None) -> str:
        """The one line with which a command fails."""
        status, output, errors = await orch_record(server or self.server, *arguments)
        self.assertEqual((status, output, errors.count("\n")), (1, "", 1), errors)
        return errors.removeprefix("orch-record: ").rstrip()

    async def colours(self) -> list[int]:
        """Write a config map three times; returns the revisions."""
        path = self.core("configmaps")
        made = await self.client.post(path, {"metadata": {"name": "colours"}, "data": {"sky": "blue"}})
        second = await self.client.merge(f"{path}/colours", {"data": {"sky": "grey", "sea": "green"}})
        third = await self.client.delete(f"{path}/colours")
        return [int(made.version), int(second.version), int(third.json["metadata"].get("resourceVersion", 0))]


class ReadingTests(CommandCase):
    """Records, states and differences in a terminal's text."""

    async def test_list(self) -> None:
        """The latest writes are listed with their users and changes."""
        await self.colours()
        text = await self.run_ok("list", "-n", self.namespace, "-r", "configmaps")
        masked = re.sub(r"\d\d:\d\d:\d\d\.\d{3} +\d+", "TIME", text)
        self.assertEqual(masked.splitlines(), [
            f"TIME kubernetes-admin created configmap {self.namespace}/colours (unknown)",
            '    + data: {"sky":"blue"}',
            f"TIME kubernetes-admin patched configmap {self.namespace}/colours (unknown)",
            '    ~ data.sky: "blue" → "grey"',
            '    + data.sea: "green"',
            f"TIME kubernetes-admin deleted configmap {self.namespace}/colours (unknown)",
        ])  # fmt: skip
        limited = await self.run_ok("list", "-n", self.namespace, "--limit", "1", "-o", "json")
        self.assertEqual(json.loads(limited)["type"], "DELETED")

    async def test_ascii(self) -> None:
        """An output that holds ASCII alone gets nothing else."""
        await self.colours()
        running = Running(self.server, "list", "-n", self.namespace, "-r", "configmaps", PYTHONIOENCODING="ascii")
        self.assertIn('~ data.sky: "blue" -> "grey"', await running.until(lambda text: "deleted" in text))
        self.assertEqual(await running.ended(), (0, ""))

    async def test_show(self) -> None:
        """One write is shown with everything about it."""
        _, revision, _ = await self.colours()
        text = await self.run_ok("show", revision)
        self.assertIn(f"Revision:   {revision}\n", text)
        self.assertIn('~ data.sky: "blue" → "grey"', text)
        found = json.loads(await self.run_ok("show", revision, "-o", "json"))
        self.assertEqual((found["previous"]["data"], found["object"]["data"]["sky"]), ({"sky": "blue"}, "grey"))
        self.assertEqual(await self.refused("show", 999_999_999), "revision 999999999 is not recorded")

    async def test_at(self) -> None:
        """Objects of the past are shown as a table, as YAML or as JSON."""
        first, _, _ = await self.colours()
        words = ("-n", self.namespace, "-r", "configmaps")
        row = [self.namespace, "configmap/colours", str(first)]
        self.assertEqual((await self.run_ok("at", first, *words)).split(), ["NAMESPACE", "OBJECT", "REVISION", *row])
        for more in (("-o", "yaml"), ("--name", "colours")):
            self.assertIn("data:\n  sky: blue\n", await self.run_ok("at", first, *words, *more))
        found = json.loads(await self.run_ok("at", first, *words, "--name", "colours", "-o", "json"))
        self.assertEqual(found["object"]["data"], {"sky": "blue"})
        problem = await self.refused("at", 0, *words, "--name", "colours")
        self.assertEqual(problem, "there was no such object at revision 0")
        self.assertIn("Too large resource version", await self.refused("at", 999_999_999))

    async def test_diff(self) -> None:
        """Differences are marked by their kind."""
        first, second, _ = await self.colours()
        self.assertEqual(await self.run_ok("diff", first, second, "-n", self.namespace), (
            f'~ configmap {self.namespace}/colours\n    ~ data.sky: "blue" → "grey"\n    + data.sea: "green"\n'
        ))  # fmt: skip
        text = await self.run_ok("diff", first, "-n", self.namespace, "-r", "configmaps")
        self.assertEqual(text, f"- configmap {self.namespace}/colours\n")

    async def test_terminal(self) -> None:
        """On a terminal there are colours, unless NO_COLOR is set."""
        await self.colours()
        words = ("list", "-n", self.namespace, "-r", "configmaps")
        for variables, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
            running = Running(self.server, *words, terminal=True, TERM="xterm", **variables)
            text = await running.until(lambda text: text.count("colours") == 3)
            self.assertEqual("\x1b[33m~ data.sky" in text, coloured, text)
            self.assertEqual(await running.ended(), (0, ""))

    async def test_follow(self) -> None:
        """Writes are shown as they happen, until a signal ends that without a word."""
        running = Running(self.server, "follow", "-n", self.namespace, "-r", "configmaps", "--since", "1h")
        await self.colours()
        text = await running.until(lambda text: "deleted" in text)
        self.assertEqual([word in text for word in ("created", "patched", "deleted")], [True] * 3)
        self.assertEqual(await running.ended(signal.SIGINT), (130, ""))

    async def test_closed_output(self) -> None:
        """A reader that has seen enough, such as `head`, ends the command without a word."""
        await self.colours()
        words = [*COMMAND, "list", "--limit", "0", f"--kubeconfig={self.server.kubeconfig}"]
        script = f"{' '.join(words)} | head -1; echo ${{PIPESTATUS[0]}}"
        output, errors, _ = await getProcessOutputAndValue("/bin/bash", ["-c", script], environ(), reactor=forking)
        self.assertEqual(errors, b"")
        self.assertEqual(len(output.splitlines()), 2)

    async def test_errors(self) -> None:
        """Every error is one line that says what is wrong."""
        missing = Path(self.mktemp())
        wrong: Sequence[tuple[Sequence[object], str]] = (
            (("list", "--since", "x"), 'since: "x" must be a revision, a time such as 2024-05-01T12:00:00Z or a'),
            (("list", "--type", "added"), 'type: "added" must be ADDED, MODIFIED, DELETED or FAULT'),
            (("diff", "9", "8"), "from: 9 must not be later than to, which is 8"),
            (("import", missing), f"{missing}: No such file or directory"),
            (("replay", self.server.kubeconfig), f"{self.server.kubeconfig}: is not an export of orch-record"),
            (("export", "--output", missing / "x"), f"{missing / 'x'}: No such file or directory"),
        )
        for words, problem in wrong:
            self.assertIn(problem, await self.refused(*words))
        wrong = (
            (("list", "--server", "https://127.0.0.1:1"), "connect: connection refused"),
            (("list", "--server", "x"), "--server: must be a URL such as https://host:port"),
            (("list", "--server", self.server.address), "certificate signed by unknown authority"),
            (("list", "--kubeconfig", missing), f"{missing}: No such file or directory"),
            (("list", "--token-file", missing), "--certificate-authority and --token-file are for --server"),
            (("list",), "orch-data/admin.kubeconfig: No such file or directory"),
        )
        for words, problem in wrong:
            status, output, errors = await orch_record(None, *words)
            self.assertEqual((status, output, errors.count("\n")), (1, "", 1), errors)
            self.assertIn(problem, errors)
        status, _, errors = await orch_record(None, "list", "--limit", "-1")
        self.assertEqual((status, "Traceback" in errors), (2, False))

    async def test_variable(self) -> None:
        """KUBECONFIG names the server, too."""
        status, output, _ = await orch_record(None, "list", "--limit", "1", KUBECONFIG=str(self.server.kubeconfig))
        self.assertEqual((status, bool(output)), (0, True))

    async def test_rights(self) -> None:
        """The record is for those who have rights on its path: nobody else, with whatever else they may do."""
        for path in ("/debug/history", "/debug/history/at", "/debug/history/diff?from=1"):
            self.assertEqual((await self.anonymous().get(path)).code, 403)
        headers = {"Impersonate-User": "jane", "Impersonate-Group": "system:authenticated"}
        self.assertEqual((await self.client.send("GET", "/debug/history", None, headers)).code, 403)

    async def test_hostile_queries(self) -> None:
        """Queries that make no sense are refused by a Status, and none of them fails the server."""
        big = "9" * 300
        for query in (
            "limit=-1", f"limit={big}", f"since={big}", "since=%00", "since=%ff%fe", "follow=maybe", "x=1", "%",
            "limit=1&limit=2", "&&&=&", "until=1&follow=1", "since=" + "1h" * 2000, "since=9999999h",
            "&".join(f"name={at}" for at in range(101)), "type=%0a", "since=0001-01-01T00:00:00-24:00",
        ):  # fmt: skip
            answer = await self.client.get(f"/debug/history?{query}")
            self.assertIn(answer.code, (200, 400), (query, answer))
            if answer.code == 400:
                self.assertEqual(answer.json["kind"], "Status")
        for path in (
            "at?revision=x", "at?path=/api/v1/secrets/../x", "at?path=%00", "at?path=" + "/" * 5000, "diff?from=",
            "at?path=/api/v1/pods&labelSelector=%00", "at?path=/api/v1/pods&fieldSelector=a%3Db",
        ):  # fmt: skip
            answer = await self.client.get(f"/debug/history/{path}")
            self.assertIn(answer.code, (400, 404), (path, answer))

    async def test_off(self) -> None:
        """A server without the flag is named as the reason."""
        other = ServerProcess(forking, self.mktemp(), KUBERNETES)
        self.addCleanup(other.kill9)
        await other.start()
        problem = "the server keeps no record of writes: start it with --enable-history"
        for words in (("list",), ("follow",), ("export",)):
            self.assertEqual(await self.refused(*words, server=other), problem)


class SlowTests(ProcessCase):
    """Followers on a server with little memory for its record."""

    async def test_slow_follower(self) -> None:
        """A follower that does not read costs the server nothing, and finds out when it reads again."""
        server = self.server(KUBERNETES, HISTORY, "--history-max-bytes=1048576")
        await server.start()
        client = self.client(server)
        follower = await client.watch("/debug/history?follow=1&resource=configmaps&name=a")
        path = "/api/v1/namespaces/default/configmaps"
        await client.post(path, {"metadata": {"name": "a"}})
        self.assertEqual((await follower.event())["name"], "a")
        for at in range(60):
            await client.put(f"{path}/a", {"metadata": {"name": "a"}, "data": {"x": chr(97 + at % 26) * 200_000}})
        lines = await follower.rest()
        self.assertEqual(lines[-1]["type"], "ERROR")
        self.assertEqual(lines[-1]["object"]["reason"], "Expired")
        metrics = (await client.get("/metrics")).body.decode()
        used = float(re.search(r"^orchtw_history_bytes (\S+)$", metrics, re.M)[1])  # type: ignore[index]
        self.assertLessEqual(used, 1 << 20)
        self.assertIn("orchtw_history_readers 0\n", metrics)

    async def test_end_of_server(self) -> None:
        """The end of the server ends its followers in order; the command says so in one line."""
        server = self.server(KUBERNETES, HISTORY)
        await server.start()
        running = Running(server, "follow", "--since", "1h")
        await running.until(lambda text: "namespace default" in text)
        self.assertEqual(await server.terminate(), 0)
        self.assertEqual(await running.ended(), (1, "orch-record: the server has ended the stream\n"))

    async def test_workers(self) -> None:
        """Several processes would each record their own writes: that is refused in one line."""
        for flags, problem in (
            ((HISTORY, "--workers=2"), "--enable-history: not with --workers"),
            (("--history-max-bytes=5",), "--history-max-bytes: must be at least 1048576"),
        ):
            self.assertIn(problem, await self.refusal(self.server(*flags)))


class ExportTests(ProcessCase):
    """Exports of one server, and what others make of them."""

    async def prepared(self) -> ServerProcess:
        """A server with objects that depend on each other, and writes of them."""
        server = self.server(KUBERNETES, HISTORY)
        await server.start()
        client = self.client(server)
        await self.ok(client.post("/api/v1/namespaces", {"metadata": {"name": "shop"}}))
        await self.ok(client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION))
        things = "/apis/example.com/v1/namespaces/shop/things"
        while (await client.get(things)).code != 200:
            await deferLater(reactor, 0.02)
        thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"a": 1}}
        owner = (await self.ok(client.post(things, thing))).json
        await self.ok(client.merge(f"{things}/t/status", {"status": {"ready": True}}))
        reference = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": owner["metadata"]["uid"]}
        owned = {"metadata": {"name": "owned", "ownerReferences": [reference]}, "data": {"x": "1"}}
        maps = "/api/v1/namespaces/shop/configmaps"
        await self.ok(client.post(maps, owned))
        await self.ok(client.merge(f"{maps}/owned", {"data": {"x": "2"}}))
        await self.ok(client.post(maps, {"metadata": {"name": "gone"}}))
        await self.ok(client.delete(f"{maps}/gone"))
        secret = {"metadata": {"name": "s"}, "stringData": {"k": "v"}}
        await self.ok(client.post("/api/v1/namespaces/shop/secrets", secret))
        spec = {"ports": [{"port": 80}], "selector": {"a": "b"}}
        await self.ok(client.post("/api/v1/namespaces/shop/services", {"metadata": {"name": "web"}, "spec": spec}))
        return server

    async def ok(self, asked: Any) -> Any:
        """The answer to a request that succeeds."""
        answer = await asked
        self.assertIn(answer.code, (200, 201), answer)
        return answer

    async def contents(self, client: Client) -> dict[str, Object]:
        """The objects of the shop by path but Secrets, without what differs between servers."""
        found = {}
        for path in ("/apis/example.com/v1/namespaces/shop/things", "/api/v1/namespaces/shop/configmaps",
                     "/api/v1/namespaces/shop/services"):  # fmt: skip
            uids = {}
            for item in (await self.ok(client.get(path))).json["items"]:
                meta = item["metadata"]
                uids[meta["uid"]] = meta["name"]
                for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
                    meta.pop(name, None)
                for reference in meta.get("ownerReferences", ()):
                    del reference["uid"]
                if meta["name"] != "kube-root-ca.crt":
                    found[f"{path}/{meta['name']}"] = item
        return found

    async def other(self) -> ServerProcess:
        """A fresh server that records."""
        server = self.server(KUBERNETES, HISTORY)
        await server.start()
        return server

    async def test_export_import(self) -> None:
        """An export makes the same objects on a fresh server, with owners that are there, except a Secret whose data
        it does not have; a second import changes nothing.
        """
        server, other = await gatherResults(map(Deferred.fromCoroutine, (self.prepared(), self.other())))
        file = Path(self.mktemp())
        status, output, errors = await orch_record(server, "export", "--output", file)
        self.assertEqual((status, errors), (0, ""))
        self.assertRegex(output, rf"^{re.escape(str(file))}: \d+ lines\n$")
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        again = await orch_record(server, "export", "--output", file)
        self.assertEqual(again, (1, "", f"orch-record: {file}: File exists\n"))
        status, output, errors = await orch_record(other, "import", file)
        self.assertEqual((status, errors), (0, f"orch-record: secret shop/s: {WITHHELD}\n"), output)
        self.assertRegex(output, r"^5 objects created, \d+ already present, 0 refused, 1 left out\n$")
        here, there = self.client(server), self.client(other)
        self.assertEqual(await self.contents(there), await self.contents(here))
        thing = (await there.get("/apis/example.com/v1/namespaces/shop/things/t")).json
        owned = (await there.get("/api/v1/namespaces/shop/configmaps/owned")).json
        self.assertEqual(owned["metadata"]["ownerReferences"][0]["uid"], thing["metadata"]["uid"])
        self.assertEqual((await there.get("/api/v1/namespaces/shop/secrets/s")).code, 404)
        head = (await there.get("/api/v1/namespaces/shop/configmaps")).json["metadata"]["resourceVersion"]
        status, output, errors = await orch_record(other, "import", file)
        self.assertRegex(output, r"^0 objects created, \d+ already present, 0 refused, 1 left out\n$")
        await self.unchanged(there, head)

    async def test_faults(self) -> None:
        """Faults are listed and exported; an import and a replay of the export skip them."""
        server, other = self.server(KUBERNETES, HISTORY, "--enable-faults"), self.server(KUBERNETES, HISTORY)
        await gatherResults([Deferred.fromCoroutine(each.start()) for each in (server, other)])
        client, maps = self.client(server), "/api/v1/namespaces/default/configmaps"
        rule = {"status": 409, "verb": "create", "resource": "configmaps", "name": "a", "times": 1}
        rule_id = (await client.post("/debug/faults", rule)).json["id"]
        for code in (409, 201):
            self.assertEqual((await client.post(maps, {"metadata": {"name": "a"}})).code, code)
        _, output, errors = await orch_record(server, "list", "--name=a")
        self.assertEqual((len(output.splitlines()), errors), (2, ""))
        self.assertIn(" create configmap default/a [fault", output)
        self.assertIn(f"[fault {rule_id}: 409 Conflict]\n", output)
        _, output, _ = await orch_record(server, "list", "--type=FAULT", "--user=nobody")
        self.assertEqual(output, "")
        revision = json.loads((await orch_record(server, "list", "--name=a", "-o", "json"))[1].splitlines()[1])
        _, output, errors = await orch_record(server, "show", revision["revision"])
        self.assertEqual((output.count("Revision:"), errors), (1, ""))
        file = Path(self.mktemp())
        self.assertEqual((await orch_record(server, "export", "-n", "default", "--output", file))[0], 0)
        self.assertIn('"type":"FAULT"', file.read_text())
        for command in ("import", "replay"):
            status, output, errors = await orch_record(other, command, file)
            self.assertEqual((status, errors), (0, ""), output)
        self.assertEqual((await self.client(other).get(f"{maps}/a")).code, 200)

    async def unchanged(self, client: Client, revision: str) -> None:
        """Nothing has been written since a revision."""
        answer = await client.get(f"/debug/history?since={revision}&user=kubernetes-admin")
        self.assertEqual(answer.body, b"")

    async def test_import_of_the_past(self) -> None:
        """An import may stop at an earlier revision."""
        server, other = await gatherResults(map(Deferred.fromCoroutine, (self.prepared(), self.other())))
        file = Path(self.mktemp())
        await orch_record(server, "export", "--output", file)
        lines = list(map(json.loads, file.read_text().splitlines()))
        revision = next(each["revision"] for each in lines if each.get("name") == "gone")
        status, _, errors = await orch_record(other, "import", file, "--at", revision)
        self.assertEqual((status, errors), (0, ""))
        maps = (await self.client(other).get("/api/v1/namespaces/shop/configmaps")).json["items"]
        self.assertEqual({each["metadata"]["name"] for each in maps} - {"kube-root-ca.crt"}, {"owned", "gone"})

    async def test_replay(self) -> None:
        """A replay repeats the writes of clients in their order, and ends with the same objects."""
        server, other = await gatherResults(map(Deferred.fromCoroutine, (self.prepared(), self.other())))
        file = Path(self.mktemp())
        await orch_record(server, "export", "--output", file)
        status, output, errors = await orch_record(other, "replay", file, "--speed", "10")
        self.assertEqual(status, 0, output)
        self.assertRegex(errors, rf"^orch-record: revision \d+: secret shop/s: {re.escape(WITHHELD)}\n$")
        self.assertRegex(output.splitlines()[-1], r"^9 writes replayed, \d+ skipped, 0 refused$")
        here, there = self.client(server), self.client(other)
        self.assertEqual(await self.contents(there), await self.contents(here))
        self.assertEqual(
            await self.written(there), [each for each in await self.written(here) if each[1] != "secrets"]
        )

    async def written(self, client: Client) -> Sequence[tuple[str, ...]]:
        """The writes of the administrator, in order."""
        lines = (await client.get("/debug/history?user=kubernetes-admin")).body.splitlines()
        found = map(json.loads, lines)
        return [(each["type"], each["resource"], each["name"], each["subresource"]) for each in found]
