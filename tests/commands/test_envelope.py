"""`orch-envelope` on real files."""

from __future__ import annotations

import io
from pathlib import Path

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.envelope import main
from tests.schema.codec.test_wire_fixtures import FIXTURES, PAIRS


class EnvelopeCommandTests(SynchronousTestCase):
    """The console command of reference DESIGN-27."""

    def _orch_envelope(self, *argv: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
        out, err = io.BytesIO(), io.StringIO()
        status = main(argv, io.BytesIO(stdin), out, err)
        return status, out.getvalue(), err.getvalue()

    def _folder(self) -> Path:
        return Path(self.mktemp())

    def test_all_fixtures(self) -> None:
        """Every fixture goes to JSON and YAML and back to the same envelope, many files at once."""
        originals = sorted(FIXTURES.glob("*.pb"))
        self.assertEqual(len(originals), PAIRS)
        for output in ("json", "yaml"):
            texts, envelopes = self._folder(), self._folder()
            names = [str(path) for path in originals]
            self.assertEqual(
                self._orch_envelope("decode", "--output", output, "--out-dir", str(texts), *names),
                (0, b"", ""),
                output,
            )
            names = sorted(str(path) for path in texts.iterdir())
            self.assertEqual(len(names), PAIRS)
            self.assertEqual(self._orch_envelope("encode", "--out-dir", str(envelopes), *names), (0, b"", ""))
            for path in originals:
                self.assertEqual((envelopes / path.name).read_bytes(), path.read_bytes(), path.name)
                if output == "json":
                    text = (texts / path.with_suffix(".json").name).read_bytes()
                    self.assertEqual(text.strip(), path.with_suffix(".json").read_bytes().strip())

    def test_standard_streams(self) -> None:
        """Without files, or with -, it reads standard input and writes standard output."""
        document = b"kind: ConfigMap\napiVersion: v1\ndata: {a: b}\n"
        status, envelope, _ = self._orch_envelope("encode", stdin=document)
        self.assertEqual((status, envelope[:4]), (0, b"k8s\x00"))
        status, text, _ = self._orch_envelope("decode", "-", stdin=envelope)
        self.assertEqual(orjson.loads(text)["data"], {"a": "b"})
        status, text, _ = self._orch_envelope("decode", "--output=yaml", stdin=envelope)
        self.assertTrue(text.startswith(b"apiVersion: v1\ndata:\n  a: b\nkind: ConfigMap\n"))

    def test_several_on_standard_output(self) -> None:
        """Several YAML documents are parted by ---."""
        name = str(FIXTURES / "core.v1.Status.pb")
        _, text, _ = self._orch_envelope("decode", "--output", "yaml", name, name)
        self.assertEqual(text.count(b"---\n"), 1)

    def test_vocabulary(self) -> None:
        """--vocabulary kubernetes speaks Kubernetes' names."""
        document = b'{"kind":"RuntimeClass","apiVersion":"node.k8s.io/v1","handler":"h"}'
        self.assertEqual(self._orch_envelope("encode", stdin=document)[0], 1)
        status, envelope, _ = self._orch_envelope("encode", "--vocabulary", "kubernetes", stdin=document)
        self.assertEqual(status, 0)
        self.assertIn(b"node.k8s.io/v1", envelope)

    def test_type_by_option(self) -> None:
        """--kind and --api-version stand in where the input names no type."""
        status, envelope, _ = self._orch_envelope("encode", "--kind=Deployment", "--api-version=apps/v1", stdin=b"{}")
        self.assertEqual(status, 0)
        self.assertIn(b"apps/v1", envelope)
        status, _, err = self._orch_envelope("encode", "--api-version=apps/v1", stdin=b"{}")
        self.assertEqual((status, err), (1, "orch-envelope: -: the kind is missing; --kind can give it\n"))

    def test_errors(self) -> None:
        """Each bad input is one clear line and status 1; the others are converted all the same."""
        folder = self._folder()
        folder.mkdir()
        bad = {
            "broken.json": (b'{"kind"', "not JSON: "),
            "list.json": (b"[]", "the document is not an object"),
            "typed.json": (b'{"kind":1}', "apiVersion and kind must be strings"),
            "unknown.json": (b'{"kind":"Foo","apiVersion":"v1"}', 'no kind "Foo" is registered for version "v1"'),
            "misfit.yaml": (
                b"kind: Pod\napiVersion: v1\nspec: 1\n",
                'Pod in version "v1" cannot be handled as a Pod: spec:',
            ),
            "bomb.yaml": (b"a: [", "yaml parse error"),
        }
        for name, (body, _) in bad.items():
            (folder / name).write_bytes(body)
        (folder / "good.json").write_bytes(b'{"kind":"Pod","apiVersion":"v1"}')
        names = [str(folder / name) for name in (*bad, "missing.json", "good.json")]
        status, _, err = self._orch_envelope("encode", "--out-dir", str(folder / "out"), *names)
        self.assertEqual(status, 1)
        lines = err.splitlines()
        self.assertEqual(len(lines), len(bad) + 1)
        for line, (name, (_, why)) in zip(lines, bad.items(), strict=False):
            self.assertTrue(line.startswith(f"orch-envelope: {folder / name}: "), line)
            self.assertIn(why, line)
        self.assertIn("No such file or directory", lines[-1])
        self.assertEqual([path.name for path in (folder / "out").iterdir()], ["good.pb"])

    def test_not_an_envelope(self) -> None:
        """Decoding anything but an envelope says so."""
        status, out, err = self._orch_envelope("decode", stdin=b"{}")
        self.assertEqual((status, out), (1, b""))
        self.assertIn("expected prefix [107 56 115 0]", err)

    def test_same_base_name(self) -> None:
        """Two inputs of one base name do not overwrite each other's output."""
        name = str(FIXTURES / "core.v1.Status.pb")
        status, _, err = self._orch_envelope("decode", "--out-dir", str(self._folder()), name, name)
        self.assertEqual(status, 1)
        self.assertIn("would be the output of two inputs", err)

    def test_usage(self) -> None:
        """Several envelopes on one standard output could not be told apart: status 2."""
        self.patch(__import__("sys"), "stderr", io.StringIO())
        error = self.assertRaises(SystemExit, self._orch_envelope, "encode", "a.json", "b.json")
        self.assertEqual(error.code, 2)
