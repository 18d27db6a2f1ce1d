"""`orch-store` on stores that no server uses (reference STORE-17)."""
# covers: orchtw.commands.store.check, orchtw.commands.store.import_, orchtw.commands.store.values

from __future__ import annotations

import json
import os
import sqlite3
import stat
from base64 import b64encode
from contextlib import closing
from errno import ENOSPC
from functools import partial
from itertools import count
from pathlib import Path

from orchtw.commands.store import compact
from orchtw.commands.store.lines import Item
from orchtw.logs.progress import Progress
from orchtw.storage.sqlite.snapshot import Snapshot
from orchtw.storage.store import Op
from tests.commands.store.case import CommandCase
from tests.logs.test_progress import Terminal

PROVIDERS = ("aescbc", "aesgcm", "secretbox")


class CheckTests(CommandCase):
    async def test_sound(self) -> None:
        """A sound store is summed up (reference STORE-17)."""
        await self.filled()
        lines = (await self.run_command("check")).splitlines()
        self.assertIn("vocabulary orch, revision 7, history since 0", lines[0])
        self.assertEqual(lines[1], "6 objects, 6 states in the history")
        self.assertEqual(
            [line.split() for line in lines[2:]],
            [
                ["1", "configmaps"],
                ["1", "events"],
                ["1", "namespaces"],
                ["1", "networkpolicies.networking.orch.io"],
                ["1", "secrets"],
                ["1", "widgets.example.com"],
            ],
        )

    async def test_damaged(self) -> None:
        """A value that is not what was written is named, and the status is 1."""
        await self.filled()
        with closing(sqlite3.connect(self.store)) as connection:
            connection.execute("UPDATE history SET value = x'00' WHERE key LIKE '%/one'")
            connection.commit()
        status, output, errors = await self.tried("check")
        self.assertEqual((status, errors.count("\n")), (1, 1), errors)
        self.assertIn("/registry/configmaps/a/one at", errors)
        self.assertIn("6 objects", output)

    async def test_undecodable(self) -> None:
        """A value with the right checksum that is not its object is named."""
        await self.filled()
        store = await self.opened(self.data)
        await store.commit(Op("/registry/pods/a/b", b"k8s\0rubbish"))
        found = await store.get("/registry/configmaps/a/one")
        assert found is not None
        await store.commit(Op("/registry/configmaps/a/two", found.value))
        await store.commit(Op("/registry/services/a/one", found.value))
        await store.stop()
        status, _, errors = await self.tried("check")
        self.assertEqual((status, errors.count("\n")), (1, 3), errors)
        self.assertIn("/registry/configmaps/a/two at 9: cannot be read: its metadata identifies it as a/one", errors)
        self.assertIn("/registry/services/a/one at 10: cannot be read: ConfigMap is stored where Service", errors)

    async def test_files(self) -> None:
        """A file can be named in place of the folder; a file that is not a store is one line."""
        await self.filled()
        self.assertIn("6 objects", await self.run_command("check", self.store, folder=self.folder))
        missing = self.folder / "none"
        self.assertEqual(await self.refused("check", missing), f"{missing}: No such file or directory")
        self.assertIn("orch-data", await self.refused("check", folder=Path("orch-data")))

    async def test_changes_nothing(self) -> None:
        """The store is what it was; an empty log may lie beside it."""
        await self.filled()
        before = self.store.read_bytes()
        await self.run_command("check")
        self.assertEqual(self.store.read_bytes(), before)
        log = self.store.with_name(f"{self.store.name}-wal")
        self.assertEqual(log.stat().st_size if log.exists() else 0, 0)


class CopyTests(CommandCase):
    async def test_there_and_back(self) -> None:
        """A backup that is restored is the store (reference STORE-18)."""
        await self.filled()
        backup = self.folder / "backup"
        await self.run_command("backup", backup)
        self.assertEqual(stat.S_IMODE(backup.stat().st_mode), 0o600)
        other = self.folder / "other"
        await self.run_command("restore", backup, folder=other)
        self.assertEqual(os.listdir(other), ["store.sqlite"])
        with closing(Snapshot(self.store)) as old, closing(Snapshot(other / "store.sqlite")) as new:
            self.assertEqual(list(old.live()), list(new.live()))
            self.assertEqual((old.revision, dict(old.ends())), (new.revision, dict(new.ends())))

    async def test_never_over_a_store(self) -> None:
        """A restore does not touch a store that is there, nor does a backup a file."""
        await self.filled()
        backup = self.folder / "backup"
        await self.run_command("backup", backup)
        there = "already exists; move it away first"
        self.assertEqual(await self.refused("restore", backup), f"{self.store}: {there}")
        self.assertEqual(await self.refused("backup", backup), f"{backup}: {there}")

    async def test_damaged_backup(self) -> None:
        """A damaged file is not restored."""
        await self.filled()
        with closing(sqlite3.connect(self.store)) as connection:
            connection.execute("UPDATE history SET value = x'00'")
            connection.commit()
        other = self.folder / "other"
        line = await self.refused("restore", self.store, folder=other)
        self.assertIn("is not restored: ", line)
        self.assertIn("(and 5 more; see orch-store check)", line)
        self.assertFalse(other.exists())

    async def test_target_that_cannot_be_made(self) -> None:
        """Where no file can be made, that is the line."""
        await self.filled()
        target = self.store / "copy"
        self.assertEqual(await self.refused("backup", target), f"{target}: Not a directory")


class CompactTests(CommandCase):
    async def test_history_goes(self) -> None:
        """Only the last states stay, under their revisions, and the file is smaller (reference STORE-19)."""
        await self.filled()
        store = await self.opened(self.data)
        for number in range(200):
            await store.commit(Op("/registry/odd/x", b"%d" % number * 2000))
        await store.commit(Op("/registry/odd/x", None))
        await store.stop()
        with closing(Snapshot(self.store)) as old:
            before, size = list(old.live()), self.store.stat().st_size
        shown = Terminal()
        self.patch(compact, "Progress", partial(Progress, out=shown, now=count(step=10).__next__))
        self.assertIn("MiB now", await self.run_command("compact"))
        self.assertIn("dropping the history: 100%, 208 of 208 revisions", shown.getvalue())
        with closing(Snapshot(self.store)) as new:
            self.assertEqual(list(new.live()), before)
            self.assertEqual((new.sizes().states, new.compacted), (6, new.revision))
        self.assertLess(self.store.stat().st_size, size // 4)
        self.assertIn("6 objects", await self.run_command("check"))

    async def test_nothing_there(self) -> None:
        """A folder without a store stays so."""
        self.data.mkdir()
        self.assertEqual(await self.refused("compact"), f"{self.store}: No such file or directory")
        self.assertEqual(os.listdir(self.data), [])


class InUseTests(CommandCase):
    async def test_writers_are_refused(self) -> None:
        """A store in use is not written to: each command that would says so in one line."""
        await self.filled()
        store = await self.opened(self.data)
        try:
            lines = self.folder / "lines"
            await self.run_command("export", lines)
            line = f"{self.store}: in use by another process; stop that one, or use another --data-dir"
            self.assertEqual(await self.refused("compact"), line)
            self.assertEqual(await self.refused("import", lines), line)
            self.assertEqual(await self.refused("migrate"), line)
            self.assertIn("6 objects", await self.run_command("check"))
        finally:
            await store.stop()


class LinesTests(CommandCase):
    async def test_identity(self) -> None:
        """Export and import keep objects, names, uids and times (reference STORE-20)."""
        for vocabulary in ("orch", "kubernetes"):
            self.setUp()
            found = await self.filled(vocabulary, odd=b"\0\xff")
            lines = self.folder / "lines"
            await self.run_command("export", lines)
            self.assertEqual(stat.S_IMODE(lines.stat().st_mode), 0o600)
            head, *items = map(json.loads, lines.read_text().split("\n")[:-1])
            self.assertEqual((head["vocabulary"], head["revision"]), (vocabulary, 8))
            shown = {each["key"]: each["object"] for each in items if "object" in each}
            for key, obj in found.items():
                self.assertEqual(shown[key]["metadata"]["uid"], obj["metadata"]["uid"])
                self.assertEqual(shown[key].get("data"), obj.get("data"))
            self.assertEqual([each["value"] for each in items if "value" in each], [b64encode(b"\0\xff").decode()])
            other = self.folder / "other"
            await self.run_command("import", lines, folder=other)
            with closing(Snapshot(self.store)) as old, closing(Snapshot(other / "store.sqlite")) as new:
                before, after = list(old.live()), list(new.live())
                self.assertEqual([item.value for item in after], [item.value for item in before])  # type: ignore[union-attr]
                self.assertEqual([item.key for item in after], [item.key for item in before])
                self.assertEqual(sorted(item.revision for item in after), list(range(9, 16)))
                self.assertEqual(sorted(new.ends().values()), sorted(old.ends().values()))
                self.assertEqual((new.vocabulary, new.compacted), (vocabulary, 15))
            again = await self.run_command("export", folder=other)
            for old_line, new_line in zip(items, map(json.loads, again.split("\n")[1:-1]), strict=True):
                self.assertEqual({**old_line, "revision": 0}, {**new_line, "revision": 0})

    async def test_standard_streams(self) -> None:
        """Without a file it is standard output and input."""
        await self.filled()
        self.with_input((await self.run_command("export")).encode())
        other = self.folder / "other"
        self.assertIn("6 objects", await self.run_command("import", folder=other))

    async def test_full_disk(self) -> None:
        """A part of an export does not stay, and the line names the file."""
        await self.filled()
        target = self.folder / "lines"

        def full(self: Item) -> bytes:
            raise OSError(ENOSPC, "No space left on device")

        self.patch(Item, "line", full)
        self.assertEqual(await self.refused("export", target), f"{target}: No space left on device")
        self.assertFalse(target.exists())
        self.assertEqual(await self.refused("export", self.store), f"{self.store}: File exists")

    async def test_what_cannot_be_read(self) -> None:
        """It is named and left out; the others are there, and the status says so."""
        await self.filled()
        store = await self.opened(self.data)
        await store.commit(Op("/registry/pods/a/b", b"k8s\0rubbish"))
        await store.stop()
        lines = self.folder / "lines"
        status, _, errors = await self.tried("export", lines)
        self.assertEqual((status, errors.count("\n")), (1, 2), errors)
        self.assertIn("orch-store: /registry/pods/a/b at 8: ", errors)
        self.assertFalse(lines.exists())
        incomplete = self.folder / "lines.incomplete"
        self.assertEqual(len(incomplete.read_text().split("\n")[:-1]), 7)
        self.assertEqual((await self.tried("export", lines))[0], 1)

    async def test_bad_lines(self) -> None:
        """The number of the line is named, and nothing is imported: a store that was made for it does not stay."""
        head = '{"export":"orch-store export","format":1,"vocabulary":"orch","revision":5}\n'
        obj = '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}'
        good = f'{{"key":"/registry/namespaces/a","object":{obj}}}\n'
        for bad, why in (
            ("nonsense\n", "line 3: is not JSON"),
            (good, "line 3: /registry/namespaces/a: /registry/namespaces/a exists twice"),
            (good.replace("/a", "/b"), "line 3: /registry/namespaces/b: its metadata identifies it as a"),
            (good.replace("/namespaces", "/nodes"), "Namespace is stored where Node should be"),
            (good.replace("/a", "/c").replace('"a"', '"c"').replace("v1", "v9"), 'no kind "Namespace" is known'),
            (good.replace("/a", "/c").replace('"name":"a"', '"name":5'), "line 3: "),
            (head, "line 3: a second export begins here"),
        ):
            lines = Path(self.mktemp())
            lines.write_text(head + good + bad)
            self.assertIn(why, await self.refused("import", lines))
            self.assertEqual(os.listdir(self.data), [])

    async def test_part_of_an_export(self) -> None:
        """Lines without the first one need a vocabulary; another one than theirs is refused."""
        await self.filled()
        text = await self.run_command("export")
        some = self.folder / "some"
        some.write_text("\n".join(text.split("\n")[1:3]))
        other = self.folder / "other"
        self.assertIn("use --vocabulary", await self.refused("import", some, folder=other))
        self.assertIn("2 objects", await self.run_command("import", "--vocabulary=orch", some, folder=other))
        some.write_text(text)
        third = self.folder / "third"
        line = await self.refused("import", "--vocabulary=kubernetes", some, folder=third)
        self.assertIn("the export is of --vocabulary orch", line)

    async def test_not_into_objects(self) -> None:
        """An import does not mix with what is there."""
        await self.filled()
        lines = self.folder / "lines"
        await self.run_command("export", lines)
        self.assertIn("is not empty: it has or had 6 objects", await self.refused("import", lines))


class EncryptedTests(CommandCase):
    def keys(self, provider: str) -> str:
        """The flag for a file with a new key of a provider for secrets."""
        path = Path(self.mktemp()).absolute()
        key = {"name": "k", "secret": b64encode(os.urandom(32)).decode()}
        given = {
            "apiVersion": "apiserver.config.orch.io/v1",
            "kind": "EncryptionConfiguration",
            "resources": [{"resources": ["secrets"], "providers": [{provider: {"keys": [key]}}]}],
        }
        path.write_text(json.dumps(given))
        return f"--encryption-provider-config={path}"

    async def test_sealed_again(self) -> None:
        """An export opens, an import seals with keys of its own; without keys nothing passes as if it were plain."""
        await self.filled()
        plain = self.folder / "plain"
        await self.run_command("export", plain)
        for provider in PROVIDERS:
            keys, other = self.keys(provider), self.folder / provider
            await self.run_command("import", keys, plain, folder=other)
            with closing(Snapshot(other / "store.sqlite")) as snapshot:
                found = {item.key: item for item in snapshot.live()}
                self.assertTrue(found["/registry/secrets/a/s"].value.startswith(b"k8s:enc:"))  # type: ignore[union-attr]
            self.assertIn("1 are encrypted and were not opened", await self.run_command("check", folder=other))
            self.assertNotIn("encrypted", await self.run_command("check", keys, folder=other))
            again = await self.run_command("export", keys, folder=other)
            self.assertEqual(
                [json.loads(line)["object"] for line in again.split("\n")[1:-1]],
                [json.loads(line)["object"] for line in plain.read_text().split("\n")[1:-1]],
            )
            status, _, errors = await self.tried("export", folder=other)
            self.assertEqual(status, 1)
            self.assertIn("/registry/secrets/a/s at", errors)

    async def test_bad_file(self) -> None:
        """A file of keys that cannot be used is one line."""
        await self.filled()
        line = await self.refused("check", f"--encryption-provider-config={self.folder / 'none'}")
        self.assertIn("No such file or directory", line)
