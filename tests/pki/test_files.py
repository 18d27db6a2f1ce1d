"""Files of a data folder: links that are not followed, rights, and writes that are complete or not there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.pki import files


class FilesCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir(mode=0o700)
        self.path = self.folder / "file"

    def refused(self, *call: object) -> str:
        """The one line with which a call is refused; it names the file."""
        function, *arguments = call
        error = self.assertRaises(ConfigError, function, *arguments)
        (line,) = error.problems
        self.assertTrue(line.startswith(str(self.folder)), line)
        return str(line)


class ReadTests(FilesCase):
    def test_content(self) -> None:
        """A file that is the owner's alone is read in every way."""
        self.path.write_bytes(b"content")
        self.path.chmod(0o600)
        for reader in (files.read, files.read_own, files.read_private):
            self.assertEqual(reader(self.path), b"content")
        files.check_private(self.path)

    def test_missing(self) -> None:
        """A missing file is named, and no other problem is reported."""
        for reader in (files.read, files.read_own, files.read_private, files.check_private):
            self.assertEqual(self.refused(reader, self.path), f"{self.path}: No such file or directory")

    def test_links(self) -> None:
        """A link in a folder of ours, or the folder itself if it is one, is not followed; the operator's own are."""
        target = self.folder / "target"
        target.write_bytes(b"content")
        self.path.symlink_to(target)
        self.assertEqual(files.read(self.path), b"content")
        self.assertIn("is a symbolic link, which is not followed", self.refused(files.read_own, self.path))
        other = self.folder / "link"
        other.symlink_to(self.folder)
        self.assertIn(f"{other}: is a symbolic link", self.refused(files.read_own, other / "target"))

    def test_what_is_no_file(self) -> None:
        """A folder or a pipe in a file's place is refused, without waiting for the pipe."""
        os.mkfifo(self.path)
        self.assertEqual(self.refused(files.read_own, self.path), f"{self.path}: is not a regular file")
        self.assertIn("Is a directory", self.refused(files.read_own, self.folder))

    def test_rights_of_others(self) -> None:
        """A private key on which others have rights is refused with what to type, spaces and all."""
        path = self.folder / "my key"
        path.write_bytes(b"")
        for mode in (0o640, 0o604, 0o610, 0o601):
            path.chmod(mode)
            for reader in (files.read_private, files.check_private):
                line = self.refused(reader, path)
                self.assertIn(f"(mode {mode:04o})", line)
                self.assertTrue(line.endswith(f"run: chmod 600 '{path}'"), line)
            self.assertEqual(files.read_own(path), b"")

    def test_nonsense(self) -> None:
        """A file without a certificate, or without a key, is reported as such."""
        self.path.write_bytes(b"nonsense")
        self.assertIn("holds no readable PEM certificate", self.refused(files.read_certificates, self.path))
        self.assertIn("holds no readable, unencrypted PEM private key", self.refused(files.read_key, self.path))


class FolderTests(FilesCase):
    def test_made(self) -> None:
        """A folder is made with those above it, the owner's alone, and its real place is returned."""
        made = self.folder / "a" / "b"
        self.assertEqual(files.make_folder(made), made.resolve())
        self.assertEqual(stat.S_IMODE(made.stat().st_mode), 0o700)
        link = self.folder / "link"
        link.symlink_to(made)
        self.assertEqual(files.make_folder(link), made.resolve())

    def test_left_as_it_is(self) -> None:
        """One that is there keeps its rights; if others have some, the log says so."""
        self.folder.chmod(0o755)
        files.make_folder(self.folder)
        self.assertEqual(stat.S_IMODE(self.folder.stat().st_mode), 0o755)
        with capturedLogs() as logged:
            files.warn_of_rights(self.folder)
        (line,) = map(formatEvent, logged)
        self.assertEqual(
            line,
            f"{self.folder}: other users have permissions on this folder (mode 0755); run: chmod 700 {self.folder}",
        )
        self.folder.chmod(0o700)
        with capturedLogs() as logged:
            files.warn_of_rights(self.folder)
        self.assertEqual(list(logged), [])

    def test_file_in_its_place(self) -> None:
        """A file where the folder should be, or above it, is named."""
        self.path.write_bytes(b"")
        self.assertEqual(self.refused(files.make_folder, self.path), f"{self.path}: is a file, not a folder")
        self.assertIn(
            "the folder cannot be created: Not a directory", self.refused(files.make_folder, self.path / "a")
        )

    def test_whole_folder(self) -> None:
        """A folder appears with all its files and their rights; nothing is left beside it."""
        path = self.folder / "pki"
        files.write_folder(path, {"a": (b"1", 0o600), "b": (b"2", 0o644)})
        found = {each.name: (each.read_bytes(), stat.S_IMODE(each.stat().st_mode)) for each in path.iterdir()}
        self.assertEqual(found, {"a": (b"1", 0o600), "b": (b"2", 0o644)})
        self.assertEqual([each.name for each in self.folder.iterdir()], ["pki"])

    def test_folder_in_use(self) -> None:
        """An empty folder is replaced; one with something in it is left alone, and nothing is left beside it."""
        path = self.folder / "pki"
        path.mkdir()
        files.write_folder(path, {"a": (b"1", 0o600)})
        self.assertIn("Directory not empty", self.refused(files.write_folder, path, {"b": (b"2", 0o600)}))
        self.assertEqual([each.name for each in path.iterdir()], ["a"])
        self.assertEqual([each.name for each in self.folder.iterdir()], ["pki"])


class ReplaceTests(FilesCase):
    def test_new_and_old(self) -> None:
        """A file is made or replaced, with the rights that are asked for, whatever those before."""
        for content, mode in ((b"1", 0o600), (b"2", 0o644), (b"3", 0o600)):
            files.replace(self.path, content, mode)
            self.assertEqual((self.path.read_bytes(), stat.S_IMODE(self.path.stat().st_mode)), (content, mode))
        self.assertEqual([each.name for each in self.folder.iterdir()], ["file"])

    def test_link(self) -> None:
        """A link in its place is replaced; what it points to stays as it is."""
        target = self.folder / "target"
        target.write_bytes(b"theirs")
        self.path.symlink_to(target)
        files.replace(self.path, b"ours", 0o600)
        self.assertFalse(self.path.is_symlink())
        self.assertEqual((self.path.read_bytes(), target.read_bytes()), (b"ours", b"theirs"))

    def test_left_over(self) -> None:
        """A temporary file left by a crash does not hinder a replacement."""
        (self.folder / f".file.{os.getpid()}").write_bytes(b"half")
        files.replace(self.path, b"whole", 0o600)
        self.assertEqual([each.name for each in self.folder.iterdir()], ["file"])

    def test_refused(self) -> None:
        """A place where nothing can be written is named."""
        self.assertIn("No such file", self.refused(files.replace, self.folder / "no" / "file", b"", 0o600))
