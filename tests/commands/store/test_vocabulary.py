"""The vocabulary of a file, which `orch-store` reads there (reference VOC-9)."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands.store.case import CommandCase
from tests.vocabularies import in_both, other


@in_both
class FileTests(CommandCase):
    vocabulary = "orch"

    async def test_read_from_the_file(self) -> None:
        """No command needs to be told it, nor minds being told the right one; an export says it."""
        await self.filled(self.vocabulary)
        for flags in ((), (f"--vocabulary={self.vocabulary}",)):
            self.assertIn(f"vocabulary {self.vocabulary},", await self.run_command("check", *flags))
            head = json.loads((await self.run_command("export", *flags)).split("\n")[0])
            self.assertEqual(head["vocabulary"], self.vocabulary)
            await self.run_command("compact", *flags)
            self.assertEqual(await self.run_command("migrate", *flags), "5 objects, 0 of them rewritten\n")
        copy = self.folder / "copy"
        await self.run_command("backup", copy)
        self.assertIn(f"vocabulary {self.vocabulary},", await self.run_command("check", copy))
        await self.run_command("restore", copy, folder=self.folder / "other")
        restored = await self.run_command("check", folder=self.folder / "other")
        self.assertIn(f"vocabulary {self.vocabulary},", restored)

    async def test_another_one(self) -> None:
        """A flag that contradicts the file is one line, and neither the file nor an output is touched."""
        await self.filled(self.vocabulary)
        before, target = self.store.read_bytes(), self.folder / "lines"
        wanted = other(self.vocabulary)
        more: dict[str, tuple[Path, ...]] = {"check": (), "compact": (), "migrate": (), "export": (target,)}
        for command, arguments in more.items():
            line = await self.refused(command, f"--vocabulary={wanted}", *arguments)
            self.assertEqual(line, f"{self.store} is of --vocabulary {self.vocabulary}, not {wanted}")
        self.assertEqual(self.store.read_bytes(), before)
        self.assertFalse(target.exists())

    async def test_import_into_a_store_of_another_one(self) -> None:
        """An empty store keeps the vocabulary that it was made with."""
        await self.filled(self.vocabulary)
        lines, empty = self.folder / "lines", self.folder / "empty"
        await self.run_command("export", lines)
        await (await self.opened(empty, other(self.vocabulary))).stop()
        line = await self.refused("import", lines, folder=empty)
        self.assertIn(f"was made with --vocabulary {other(self.vocabulary)}", line)
        self.assertIn(f"vocabulary {other(self.vocabulary)},", await self.run_command("check", folder=empty))
