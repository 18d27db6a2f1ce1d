"""The handbook against the code: links, flags, modules, snippets, and the tour of the README as it runs."""

from __future__ import annotations

import ast
import configparser
import importlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from twisted.internet import reactor as installed_reactor
from twisted.internet.utils import getProcessOutputAndValue
from twisted.trial.unittest import SynchronousTestCase, TestCase

from docs import flags_reference
from orchtw.admission import configuration
from orchtw.admission.order import ORDER
from orchtw.assembly.flags import FLAGS
from orchtw.authn import authentication_file
from orchtw.authn.oidc_claims import BadToken
from orchtw.authz import MODES, authorization_file
from orchtw.config.releases import LAST
from orchtw.errors import ConfigError
from orchtw.flags.flag import scan_mapping
from orchtw.schema.cel.environment import environment as expressions
from orchtw.testing import kubectl
from orchtw.testing.process import ServerProcess, environment
from tests.forked import forking

reactor: Any = installed_reactor

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = tuple(ROOT / name for name in ("docs", "docs/operating", "docs/testing"))
PAGES = (ROOT / "README.md", *(page for folder in FOLDERS for page in sorted(folder.glob("*.md"))))
OPERATING_WORDS = 1200
# Flags that the pages show of other programs: twistd, kubectl, curl, pip, kopf, orch-envelope, and in error messages.
OTHERS_FLAGS = frozenset(
    "pidfile logfile syslog reactor output out-dir kind api-version check help version image replicas watch "
    "show-labels from-literal kubeconfig cacert cert key data-binary config-settings exclude flag server-side "
    "all-namespaces standalone for api-group type subresource max-request-bytes raw clusterrole "
    "serviceaccount set".split()
)
# Modules that declare the options of other programs and of the pytest plugin.
OPTIONS = (
    *("bench/options.py", "tests/fuzz/__main__.py", "orchtw/pki/user_command.py", "orchtw/testing/pytest_plugin.py"),
    *("orchtw/commands/record/command.py", "orchtw/commands/remote_server.py", "orchtw/commands/load/command.py"),
)
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.M | re.S)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
_PATH = re.compile(r"`((?:orchtw|protos|tests|docs|bench|twisted)/[\w./-]*\w)`")
_PACKAGE_IN_DRAWING = re.compile(r'<text class="package" [^>]*y="(\d+)"[^>]*>(\w+)</text>')
_MODULE = re.compile(r"\bpython3? -m ((?:orchtw|docs|bench)[\w.]*)")


class Block(NamedTuple):
    """A fenced block: its language and its text, without common indentation."""

    language: str
    text: str


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page."""
    return [
        Block(language, "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True)))
        for indent, language, body in _BLOCK.findall(text)
    ]


def anchors(text: str) -> set[str]:
    """The fragments that a page's headings can be linked by."""
    heads = re.findall(r"^#+ (.+)$", _BLOCK.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


class LinkTests(SynchronousTestCase):
    """Links on the pages, and the flags and paths that they name."""

    def test_links(self) -> None:
        """Every relative link leads to a file, and its fragment to a heading there."""
        for page in PAGES:
            for link in _LINK.findall(_BLOCK.sub("", page.read_text())):
                if "://" in link:
                    continue
                name, _, fragment = link.partition("#")
                target = page.parent / name if name else page
                self.assertTrue(target.is_file(), f"{page.name}: {link}")
                if fragment:
                    self.assertIn(fragment, anchors(target.read_text()), f"{page.name}: {link}")

    def test_index(self) -> None:
        """Every page is in the index of its folder, and those of `docs/` are in the README."""
        docs, operating, testing = FOLDERS
        for listing, folder in (
            (docs / "index.md", docs), (ROOT / "README.md", docs), (operating / "index.md", operating),
            (docs / "testing.md", testing),
        ):  # fmt: skip
            links = {(listing.parent / link).resolve() for link in _LINK.findall(listing.read_text())}
            for page in PAGES[1:]:
                if page.name != "index.md" and page.parent == folder:
                    self.assertIn(page, links, listing.name)

    def test_flags(self) -> None:
        """Every flag that a page names is the server's, the benchmarks', the fuzzer's, or a program's beside them."""
        known = {name for flag in FLAGS for name in flag.names} | OTHERS_FLAGS
        for options in OPTIONS:
            known |= set(_FLAG.findall((ROOT / options).read_text()))
        for page in PAGES:
            for name in _FLAG.findall(_without_output(page.read_text())):
                self.assertIn(name, known, f"{page.name}: --{name}")

    def test_paths(self) -> None:
        """Every file, package and module that a page names is there."""
        for page in PAGES:
            text = page.read_text()
            for path in _PATH.findall(text):
                self.assertTrue((ROOT / path).exists() or list(ROOT.glob(path)), f"{page.name}: {path}")
            for module in _MODULE.findall(text):
                self.assertIsNotNone(importlib.util.find_spec(module), f"{page.name}: {module}")


class LengthTests(SynchronousTestCase):
    """Length of the pages for operators, each of which answers for one subject."""

    def test_operating(self) -> None:
        """No page of docs/operating has more than 1,200 words, counted as `wc -w` does."""
        long = {
            page.name: words
            for page in sorted((ROOT / "docs/operating").glob("*.md"))
            if (words := len(page.read_text().split())) > OPERATING_WORDS
        }
        self.assertEqual(long, {})


class SnippetTests(SynchronousTestCase):
    """Python and YAML snippets on the pages."""

    def test_python(self) -> None:
        """Python snippets compile, and their imports exist."""
        for page in PAGES:
            for block in blocks(page.read_text()):
                if block.language == "python":
                    for module, name in _imported(ast.parse(block.text, page.name)):
                        found = hasattr(importlib.import_module(module), name)
                        self.assertTrue(found, f"{page.name}: {module}.{name}")

    def test_configuration(self) -> None:
        """The example of a configuration file has only keys that are flags, with values that can be."""
        (text,) = (block.text for block in blocks(flags_reference.page()) if block.language == "yaml")
        self.assertEqual(scan_mapping(yaml.safe_load(text), FLAGS, "example")[1], [])

    def test_admission_configuration(self) -> None:
        """The example of an AdmissionConfiguration gives plugins what it says."""
        given = configuration.read(self.example("admission-configuration"), ORDER).of("PodNodeSelector")
        self.assertEqual(given and list(given.obj), ["podNodeSelectorPluginConfig"])

    def test_authentication_configuration(self) -> None:
        """The example of an AuthenticationConfiguration has no mistakes, and keeps names of the system out."""
        path = self.example("authentication-configuration")
        found = authentication_file.read(path, expressions(LAST), ("https://own",), paths=True)
        assert found.anonymous is not None
        self.assertEqual([found.anonymous.allows(each) for each in ("/livez", "/api")], [True, False])
        login, _ = found.issuers
        claims: dict[str, Any] = {"sub": "ann", "exp": 60, "nbf": 0, "groups": ["a"], "tenant": "t"}
        self.assertEqual(login.mapping.user(claims).name, "login:ann")
        self.assertRaises(BadToken, login.mapping.user, {**claims, "exp": 86_401})

    def test_authorization_configuration(self) -> None:
        """The example of an AuthorizationConfiguration has one mistake: its kubeconfig is not here."""
        path = self.example("authorization-configuration")
        error = self.assertRaises(ConfigError, authorization_file.read, path, expressions(LAST), MODES)
        (line,) = error.problems
        self.assertIn("webhook.connectionInfo.kubeConfigFile: Invalid value", line)

    def example(self, name: str) -> Path:
        """Write an example of docs/operating/access.md to a file."""
        page = (ROOT / "docs/operating/access.md").read_text()
        path = Path(self.mktemp())
        path.write_text(page.partition(f"<!-- example: {name} -->\n```yaml\n")[2].partition("```")[0])
        return path


class LayersTests(SynchronousTestCase):
    """Packages in docs/architecture/layers.svg, against the tree and the import contract."""

    def setUp(self) -> None:
        """Read the names in the drawing, row by row."""
        drawing = (ROOT / "docs" / "architecture" / "layers.svg").read_text()
        self.rows: dict[int, set[str]] = {}
        for y, name in _PACKAGE_IN_DRAWING.findall(drawing):
            self.rows.setdefault(int(y), set()).add(name)

    def test_packages(self) -> None:
        """The drawing names every package and module directly in orchtw/, and nothing else."""
        drawn = [name for row in self.rows.values() for name in row]
        root = ROOT / "orchtw"
        there = {path.stem for path in root.glob("*.py")} | {path.parent.name for path in root.glob("*/__init__.py")}
        self.assertEqual(sorted(drawn), sorted(there - {"__init__"}))

    def test_order(self) -> None:
        """The rows of the drawing are the layers of the import contract, from top to bottom."""
        settings = configparser.ConfigParser()
        settings.read(ROOT / "setup.cfg")
        layers = settings["importlinter:contract:layers"]["layers"].strip().splitlines()
        self.assertEqual([self.rows[y] for y in sorted(self.rows)], [set(line.split(" | ")) for line in layers])


class IndexTests(SynchronousTestCase):
    """The index of docs/architecture.md from concepts and rules to files."""

    def setUp(self) -> None:
        """Read the rows of both tables."""
        page = (ROOT / "docs" / "architecture.md").read_text()
        section = page.partition("## Where to look")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| (?!Rule|Concept)(.+?) \| `(.+?)` \|$", section, re.M)
        self.rules = {name.partition(",")[0]: path for name, path in rows if re.match(r"[A-Z]+-\d+, ", name)}
        self.concepts = [name for name, _ in rows if not re.match(r"[A-Z]+-\d+, ", name)]

    def test_size(self) -> None:
        """At least thirty concepts of kube-apiserver and thirty rules of the reference have their file."""
        self.assertGreaterEqual(len(self.concepts), 30)
        self.assertGreaterEqual(len(self.rules), 30)

    def test_cited(self) -> None:
        """The file of a rule cites it."""
        elsewhere = [
            rule for rule, path in self.rules.items() if not re.search(rf"\b{rule}\b", (ROOT / path).read_text())
        ]
        self.assertEqual(elsewhere, [])


class DependencyTests(SynchronousTestCase):
    """The table of dependencies in docs/architecture.md."""

    def test_every_one(self) -> None:
        """Every library that `setup.cfg` requires, or takes with an extra for users, has its reason in the table."""
        settings = configparser.ConfigParser()
        settings.read(ROOT / "setup.cfg")
        extras = settings["options.extras_require"]
        wanted = "\n".join([settings["options"]["install_requires"], extras["secretbox"]])
        names = {line.split(" ")[0] for line in wanted.splitlines() if line}
        page = (ROOT / "docs" / "architecture.md").read_text()
        table = page.partition("## Dependencies")[2].partition("\n## ")[0]
        rows = "".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
        self.assertEqual(set(re.findall("`(.+?)`", rows)), names)


class FlagsReferenceTests(SynchronousTestCase):
    """Completeness of the reference docs/flags.md."""

    def test_current(self) -> None:
        """The committed page equals the output of `python -m docs.flags_reference`."""
        self.assertEqual(flags_reference.PAGE.read_text("utf-8"), flags_reference.page())

    def test_complete(self) -> None:
        """Every flag has a row with its default."""
        page = flags_reference.page()
        for flag in FLAGS:
            self.assertIn(f"| `--{flag.name}`", page)


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Module and name of each `from orchtw… import …` in a snippet."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("orchtw"):
            yield from ((node.module, alias.name) for alias in node.names)


def _without_output(text: str) -> str:
    """A page with only the commands of its console blocks, and without blocks of plain output."""

    def commands(match: re.Match[str]) -> str:
        if match[2] == "console":
            return "\n".join(line for line in match[3].splitlines() if line.startswith("$ "))
        return match[0] if match[2] else ""

    return _BLOCK.sub(commands, text)


class Step(NamedTuple):
    """A command of the tour, and the output that the page shows."""

    command: str
    shown: str


def steps(block: Block) -> list[Step]:
    """The commands of a console block."""
    parts = re.split(r"^\$ ", block.text, flags=re.M)[1:]
    return [Step(*part.split("\n", 1)) for part in parts]


def consoles_of(name: str) -> list[Block]:
    """The console blocks of a page of the handbook."""
    text = (ROOT / "docs" / f"{name}.md").read_text()
    return [block for block in blocks(text) if block.language == "console"]


# What differs from run to run, and the padding of columns that follows from it.
_VARYING = (
    (re.compile(r"^\d\d:\d\d:\d\d\.\d{3}", re.M), "<time>"),
    (re.compile(r"\bkubectl/v[\d.]+"), "kubectl/<version>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r"\b\d+(?:s|m\d+s|m)(?= |$)", re.M), "<age>"),
    (re.compile(r"(?<=resourceVersion)(\": ?|: )\"\d+\""), "<version>"),
    (re.compile(r"(?<=\S) {2,}(?=\S)"), "  "),
)


def masked(text: str) -> str:
    """Return the output without the parts that differ from run to run."""
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return text.strip()


class ConsoleCase(TestCase):
    """Commands of the pages in a folder of their own, with the installed commands on the PATH."""

    timeout = 180

    async def setUp(self) -> None:  # type: ignore[override]
        self.folder = Path(self.mktemp()).absolute()
        (self.folder / "home").mkdir(parents=True)
        (self.folder / "bin").mkdir()
        script = self.folder / "bin/orch-envelope"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -m orchtw.commands.envelope "$@"\n')
        script.chmod(0o755)

    async def run_step(self, prelude: str, step: Step) -> None:
        """Run a command and compare its output with the page's."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        env = {**environment(), "PATH": path, "HOME": str(self.folder / "home")}
        output, errors, _ = await getProcessOutputAndValue(
            "/bin/bash", ["-c", f"{prelude}\n{step.command}"], env, str(self.folder)
        )
        self.assertEqual(masked(output.decode()), masked(step.shown), f"{step.command}\n{errors.decode()}")


class EnvelopeTests(ConsoleCase):
    """Commands on the page docs/envelope.md."""

    async def test_commands(self) -> None:
        """Every command prints the output on the page, errors included."""
        for block in consoles_of("envelope"):
            for step in steps(block):
                await self.run_step("exec 2>&1", step)


class TourTests(ConsoleCase):
    """The tour of the README, run as a reader would, on servers with ports of their own."""

    if kubectl.find() is None:
        skip = "kubectl is not on the PATH (Debian package kubernetes-client): not run"

    async def server(self, folder: str, *flags: str) -> ServerProcess:
        """A server on a data folder of the tour."""
        server = ServerProcess(forking, self.folder / folder, *flags)
        await server.start()
        self.addCleanup(server.terminate)
        return server

    async def test_neutral_names(self) -> None:
        """The first part, and the commands of docs/operating: kubectl, Protobuf, a kill that loses nothing."""
        setting, *consoles = _part("orch")
        consoles += consoles_of("operating/certificates") + consoles_of("operating/monitoring")
        server = await self.server("orch-data")
        prelude = setting.text.replace("$PWD/.venv/bin:", "")
        for step in [step for console in consoles for step in steps(console)]:
            if step.command.startswith("kill -9"):
                await server.kill9()
                await server.start()
            else:
                await self.run_step(prelude, _ported(step, "6443", server))

    async def test_kubernetes_names(self) -> None:
        """The second part: commands that send typed Protobuf, a token, and a type of one's own."""
        setting, console, *more = _part("kubernetes")
        tokens, start = setting.text.splitlines()
        await self.run_step(tokens, steps(_part("orch")[1])[0])  # the file that both parts use
        flags = start.partition("orch-apiserver ")[2].replace("tokens.csv", str(self.folder / "tokens.csv"))
        flags = re.sub(r"--(?:data-dir|secure-port) \S+ ?", "", flags)
        server = await self.server("k8s-data", *flags.split())
        prelude, *rest = steps(console)
        for block in more:
            rest += [Step(block.text, "")] if block.language == "sh" else steps(block)
        for step in rest:
            await self.run_step(prelude.command, _ported(step, "6444", server))


class CustomResourceTests(ConsoleCase):
    """Commands on the page docs/custom-resources.md."""

    if kubectl.minor_version() < 31:
        skip = "kubectl is not on the PATH or older than 1.31, whose words the page shows: not run"

    async def test_commands(self) -> None:
        """Every command prints the output on the page, errors included."""
        server = ServerProcess(forking, self.folder / "crd-data", "--vocabulary=kubernetes")
        await server.start()
        self.addCleanup(server.terminate)
        page = (ROOT / "docs/custom-resources.md").read_text()
        for name, text in re.findall(r"<!-- example: (\S+) -->\n```yaml\n(.*?)^```", page, re.M | re.S):
            (self.folder / name).write_text(text)
        for step in [step for console in consoles_of("custom-resources") for step in steps(console)]:
            await self.run_step(f"export KUBECONFIG={server.kubeconfig}; exec 2>&1", step)


class HistoryTests(ConsoleCase):
    """Commands on the page docs/operating/history.md."""

    if kubectl.find() is None:
        skip = "kubectl is not on the PATH (Debian package kubernetes-client): not run"

    async def test_commands(self) -> None:
        """Every command prints the output on the page, but for times, versions and where the revisions begin."""
        server = ServerProcess(
            forking, self.folder / "data", "--vocabulary=kubernetes", "--enable-history", "--controllers=-*"
        )
        await server.start()
        self.addCleanup(server.terminate)
        command = self.folder / "bin/orch-record"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m orchtw.commands.record "$@"\n')
        command.chmod(0o755)
        create, *rest = [step for console in consoles_of("operating/history") for step in steps(console)]
        prelude = f"export KUBECONFIG={server.kubeconfig} PYTHONIOENCODING=utf-8; exec 2>&1"
        await self.run_step(prelude, create)
        words = ("list", f"--kubeconfig={server.kubeconfig}", "--limit=1", "-o", "json")
        output, _, _ = await getProcessOutputAndValue(str(command), words, environment())
        shown = re.search(r" (\d+) \S+ created", rest[1].shown)
        assert shown is not None
        later = json.loads(output)["revision"] - int(shown[1])

        def moved(text: str) -> str:
            return re.sub(r"\b20\d\b", lambda found: str(int(found[0]) + later), text)

        for step in rest:
            await self.run_step(prelude, Step(moved(step.command), moved(step.shown)))


def _ported(step: Step, port: str, server: ServerProcess) -> Step:
    return step._replace(command=step.command.replace(f"127.0.0.1:{port}", f"127.0.0.1:{server.port}"))


def _part(name: str) -> list[Block]:
    """The blocks of one part of the tour: how it is set up, and the consoles."""
    text = (ROOT / "README.md").read_text().partition(f"<!-- tour: {name} -->")[2].partition("<!-- tour:")[0]
    return [block for block in blocks(text) if block.language in ("sh", "console")]
