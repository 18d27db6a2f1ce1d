"""Reading of flags and of the configuration file, and the report of everything that is wrong."""
# covers: orchtw.config.accounts, orchtw.config.audit, orchtw.config.authentication, orchtw.config.cluster
# covers: orchtw.config.controllers, orchtw.config.generic, orchtw.config.serving, orchtw.config.storage

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import FLAGS, parse
from orchtw.config import Config
from orchtw.config.accounts import AccountOptions
from orchtw.config.audit import AuditOptions
from orchtw.config.authentication import AuthenticationOptions
from orchtw.config.cipher_suites import openssl_names
from orchtw.config.cluster import ClusterOptions
from orchtw.config.controllers import ControllerOptions
from orchtw.config.generic import GenericOptions
from orchtw.config.releases import LAST
from orchtw.config.serving import ServingOptions
from orchtw.config.storage import StorageOptions
from orchtw.errors import ConfigError
from orchtw.flags.flag import help_text
from tests.emulated import since


class ParseTests(SynchronousTestCase):
    def problems(self, *arguments: str) -> tuple[str, ...]:
        """Return the problems that `parse` finds."""
        error: ConfigError = self.assertRaises(ConfigError, parse, arguments)
        return error.problems

    @since(LAST)
    def test_no_flags_are_the_contract(self) -> None:
        """Without flags the server is the one of reference DESIGN-20 and FLAG-4."""
        config = parse([])
        self.assertEqual(
            (config.generic.data_dir, config.generic.vocabulary, config.authz.mode),
            (Path("orch-data"), "orch", ("Node", "RBAC")),
        )
        self.assertEqual((config.serving.bind_address, config.serving.secure_port), ("127.0.0.1", 6443))
        self.assertEqual(config, Config())

    @since(LAST)
    def test_subjects(self) -> None:
        """Without flags the options of each subject have the defaults of its package."""
        config = parse([])
        self.assertEqual((config.accounts, config.authn), (AccountOptions(), AuthenticationOptions()))
        self.assertEqual((config.audit, config.cluster), (AuditOptions(), ClusterOptions()))
        self.assertEqual((config.controllers, config.generic), (ControllerOptions(), GenericOptions()))
        self.assertEqual((config.serving, config.storage), (ServingOptions(), StorageOptions()))

    def test_both_spellings(self) -> None:
        """`--flag=value` and `--flag value` say the same (reference FLAG-1)."""
        self.assertEqual(parse(["--secure-port=0"]), parse(["--secure-port", "0"]))

    def test_value_with_equals(self) -> None:
        """Only the first equals sign ends the name."""
        self.assertEqual(
            parse(["--feature-gates=APIListChunking=false"]).generic.feature_gates, (("APIListChunking", "false"),)
        )

    def test_boolean(self) -> None:
        """A boolean alone is true, takes a value only behind `=`, and never eats the next word."""
        self.assertTrue(parse(["--anonymous-auth"]).authn.anonymous_auth)
        self.assertFalse(parse(["--anonymous-auth=false"]).authn.anonymous_auth)
        self.assertEqual(self.problems("--anonymous-auth", "false"), ('unexpected argument "false"',))

    def test_short_flag(self) -> None:
        """`-v 3`, `-v=3` and `-v3` are `--v=3` (reference FLAG-1)."""
        for spelling in (["-v", "3"], ["-v=3"], ["-v3"], ["--v=3"]):
            self.assertEqual(parse(spelling).log.v, 3)

    def test_last_value_counts(self) -> None:
        """A flag given twice has its last value."""
        self.assertEqual(parse(["--secure-port=1", "--secure-port=2"]).serving.secure_port, 2)

    def test_lists_gather(self) -> None:
        """A list given in one word or in several is the same list."""
        once = parse(["--runtime-config=batch/v1=false,apps/v1"])
        twice = parse(["--runtime-config=batch/v1=false", "--runtime-config", "apps/v1"])
        self.assertEqual(once.generic.runtime_config, (("batch/v1", "false"), ("apps/v1", "true")))
        self.assertEqual(once, twice)

    def test_other_names(self) -> None:
        """A flag that bears a component's name has that of the other vocabulary too, in files as well."""
        file = Path(self.mktemp())
        file.write_text("kubelet-timeout: 7s\n")
        made = parse(["--kubelet-port=1", "--orchlet-https=false", "--config", str(file)])
        self.assertEqual((made.nodes.port, made.nodes.https, made.nodes.timeout_s), (1, False, 7.0))

    def test_durations(self) -> None:
        """Durations are Go's, in seconds (reference FLAG-1)."""
        for text, seconds in (("5m0s", 300.0), ("1h30m", 5400.0), ("0", 0.0), ("250ms", 0.25), ("1.5h", 5400.0)):
            self.assertEqual(parse(["--etcd-compaction-interval", text]).storage.etcd.compaction_interval_s, seconds)
        for text in ("5", "m", "-1s", "", "5m x", "99999999h"):
            (problem,) = self.problems(f"--request-timeout={text}")
            self.assertIn(f'invalid argument "{text}" for "--request-timeout" flag', problem)

    def test_unknown_flag(self) -> None:
        """An unknown flag is named as the reference server names it, its value not taken for another mistake."""
        self.assertEqual(self.problems("--x"), ("unknown flag: --x",))
        self.assertEqual(self.problems("--x", "y"), ("unknown flag: --x",))
        self.assertEqual(self.problems("--x=y", "-z"), ("unknown flag: --x", "unknown flag: -z"))

    def test_missing_value(self) -> None:
        """A flag at the end without its value is told apart from an unknown one."""
        self.assertEqual(self.problems("--data-dir"), ("flag needs an argument: --data-dir",))

    def test_all_problems_together(self) -> None:
        """Every problem of flags, values and file is reported at once, a line each (reference FLAG-2)."""
        file = self.mktemp()
        Path(file).write_text("nonsense: 1\nsecure-port: many\n")
        problems = self.problems("--x", "--config", file, "--vocabulary=latin", "--tls-cert-file=c", "stray")
        self.assertEqual(
            problems,
            (
                "unknown flag: --x",
                'unexpected argument "stray"',
                f"--config {file}: unknown key: nonsense",
                'invalid argument "many" for "--secure-port" flag: must be an integer of zero or more',
                '--vocabulary: "latin" is not one of orch, kubernetes',
                "--tls-cert-file and --tls-private-key-file must be given together",
            ),
        )

    def test_cipher_suites(self) -> None:
        """IANA names keep their order in OpenSSL's spelling."""
        config = parse(
            ["--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]
        )
        self.assertEqual(
            openssl_names(config.serving.tls.cipher_suites),
            "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256",
        )


class FeatureGateTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """GA and beta gates are on, alpha gates off (reference OPS-24)."""
        gates = Config().generic.gates
        self.assertTrue(gates["APIListChunking"] and gates["WatchBookmark"])
        self.assertFalse(gates["StorageVersionAPI"])

    def test_single_wins_over_stage(self) -> None:
        """A gate set by name keeps its value beside AllBeta, in either order (reference OPS-23)."""
        for value in ("AllBeta=false,APIListChunking=true", "APIListChunking=true,AllBeta=false"):
            gates = parse([f"--feature-gates={value}"]).generic.gates
            self.assertTrue(gates["APIListChunking"])
            self.assertFalse(gates["RemainingItemCount"])

    def test_refusals(self) -> None:
        """Unknown and locked gates end the start with the reference server's texts (reference OPS-23)."""
        error = self.assertRaises(ConfigError, parse, ["--feature-gates=OpenAPIV3"])
        self.assertIn("missing bool value for OpenAPIV3", str(error))
        error = self.assertRaises(ConfigError, parse, ["--feature-gates=X=true,WatchBookmark=false,DryRun=x"])
        self.assertEqual(
            error.problems,
            (
                "--feature-gates: unrecognized feature gate: X",
                "--feature-gates: cannot set feature gate WatchBookmark to false, feature is locked to true",
                "--feature-gates: invalid value of DryRun=x, must be true or false",
            ),
        )

    def test_releases(self) -> None:
        """The emulated and the reported release are among those that are known."""
        generic = parse(["--emulated-version=1.30", "--report-release=1.33"]).generic
        self.assertEqual((generic.emulated, generic.git_version), ((1, 30), "v1.33.0"))
        self.assertEqual(Config().generic.git_version, "v1.24.0")
        error = self.assertRaises(ConfigError, parse, ["--emulated-version=1.23", "--report-release=v1.30"])
        self.assertEqual(
            [problem.partition(", must be one of 1.24, ")[0] for problem in error.problems],
            [
                '--emulated-version: "1.23" is not a known release',
                '--report-release: "v1.30" is not a known release',
            ],
        )


class ConfigFileTests(SynchronousTestCase):
    def file(self, text: str) -> str:
        """A file with this content."""
        path: str = self.mktemp()
        Path(path).write_text(text)
        return path

    def test_same_keys(self) -> None:
        """The file holds flags as keys, in YAML's own types or as text."""
        path = self.file(
            "secure-port: 0\nanonymous-auth: false\nrequest-timeout: 30s\nauthorization-mode: [Node, RBAC]\n"
            "feature-gates:\n  APIListChunking: false\nruntime-config: batch/v1=false\n"
        )
        config = parse([f"--config={path}"])
        self.assertEqual(
            (config.serving.secure_port, config.authn.anonymous_auth, config.requests.timeout_s), (0, False, 30.0)
        )
        self.assertFalse(config.generic.gates["APIListChunking"])
        self.assertEqual(config.generic.runtime_config, (("batch/v1", "false"),))

    def test_command_line_wins(self) -> None:
        """A flag on the command line replaces the file's value, lists too (reference FLAG-1)."""
        path = self.file("secure-port: 1\nruntime-config: [apps/v1=false]\n")
        config = parse(["--secure-port=2", "--config", path, "--runtime-config=batch/v1=false"])
        self.assertEqual((config.serving.secure_port, config.generic.runtime_config), (2, (("batch/v1", "false"),)))

    def test_bad_files(self) -> None:
        """A missing, malformed or differently shaped file is one line that names it."""
        for path, text in (
            ("/nonexistent/file", "No such file or directory"),
            (self.file("a: ["), "not valid YAML"),
            (self.file("- secure-port"), "must be a mapping"),
            (self.file("secure-port:\n  - [1]"), 'invalid value for key "secure-port"'),
            (self.file("config: other"), "unknown key: config"),
        ):
            (problem,) = self.assertRaises(ConfigError, parse, ["--config", path]).problems
            self.assertIn(text, problem)
            self.assertIn(path, problem)
            self.assertNotIn("\n", problem)

    @since(LAST)
    def test_empty_file(self) -> None:
        """An empty file changes nothing."""
        path = self.file("")
        self.assertEqual(parse(["--config", path]).changed(config=None), Config())


class HelpTests(SynchronousTestCase):
    def test_every_flag_with_default(self) -> None:
        """The help shows every flag, and its default as it would be written (reference FLAG-13)."""
        text = help_text(FLAGS)
        for flag in FLAGS:
            self.assertIn(f"--{flag.name} ", text)
        for shown in ("(default 6443)", "(default 5m0s)", "(default Node,RBAC)", "(default true)", "(default 0s)"):
            self.assertIn(shown, text)

    def test_by_section(self) -> None:
        """Flags are listed below the heading of their section."""
        text = help_text(FLAGS)
        sections = [line for line in text.splitlines() if line.endswith(" flags:")]
        self.assertEqual(sections, [f"{name} flags:" for name in dict.fromkeys(flag.section for flag in FLAGS)])
        self.assertLess(text.index("Authentication flags:"), text.index("--token-auth-file"))
