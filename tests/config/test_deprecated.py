"""Notes on flags and gates that are given: those without effect, deprecated or refused."""
# covers: orchtw.config.ignored

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import FLAGS, parse
from orchtw.config import Config
from orchtw.config.releases import LAST
from orchtw.errors import ConfigError
from tests.emulated import since

RELEASE_FLAGS = (
    "add-dir-header alsologtostderr azure-container-registry-config cloud-config cloud-provider "
    "cloud-provider-gce-l7lb-src-cidrs cloud-provider-gce-lb-src-cidrs "
    "kubelet-read-only-port kubernetes-service-node-port log-backtrace-at log-dir "
    "log-file log-file-max-size log-flush-frequency log-json-info-buffer-size log-json-split-stream logtostderr "
    "master-service-namespace one-output skip-headers skip-log-headers stderrthreshold tracing-config-file"
).split()


class NoteTests(SynchronousTestCase):
    """Flags of the release that mean nothing here (reference FLAG-14, FLAG-15)."""

    def test_without_effect(self) -> None:
        """They are taken, and the start says that they have no effect and what stands in their place."""
        config = parse(["--watch-cache=false", "--default-watch-cache-size", "7"])
        self.assertEqual(config.notes, (
            "Flag --watch-cache has no effect: All objects are always cached.",
            "Flag --default-watch-cache-size has no effect: All objects are always cached.",
        ))
        self.assertRaises(ConfigError, parse, ["--watch-cache=maybe"])

    def test_for_tests_only(self) -> None:
        """A flag that gives up a promise of the store is named at the start (reference STORE-43)."""
        note = "Flag --unsafe-no-fsync is for tests only: A crash of the machine may lose or damage the store."
        self.assertEqual(parse(["--unsafe-no-fsync"]).notes, (note,))

    def test_flags_of_the_release(self) -> None:
        """Each flag of release 1.24 that the server does not have is taken with its default, and said to do nothing
        (reference FLAG-14).
        """
        for name in RELEASE_FLAGS:
            (flag,) = (flag for flag in FLAGS if name in flag.names)
            config = parse([f"--{name}={flag.kind.show(flag.default)}"])
            (note,) = config.notes
            self.assertTrue(note.startswith(f"Flag --{flag.name} has no effect: "), note)

    def test_values_without_effect(self) -> None:
        """Their values are read all the same: one that cannot be is one line."""
        for argument, text in (
            ("--logtostderr=maybe", "must be true or false"),
            ("--log-file-max-size=-1", "must be an integer of zero or more"),
            ("--log-flush-frequency=5", "must be a duration"),
            ("--stderrthreshold=LOUD", "must be a severity"),
            ("--stderrthreshold=4", "must be a severity"),
            ("--log-backtrace-at=here", "expect file.go:234"),
            ("--log-json-info-buffer-size=much", "a quantity is a number"),
            ("--cloud-provider-gce-l7lb-src-cidrs=10.0.0.0", '"10.0.0.0" has no prefix length'),
            ("--cloud-provider-gce-l7lb-src-cidrs=x/1", "does not appear to be"),
            ("--kubelet-read-only-port=x", 'for "--orchlet-read-only-port" flag'),
            ("--kubernetes-service-node-port=x", 'for "--orch-service-node-port" flag'),
        ):
            error: ConfigError = self.assertRaises(ConfigError, parse, [argument])
            self.assertEqual((len(error.problems), text in error.problems[0]), (1, True), error.problems)
        for good in ("--stderrthreshold=warning", "--stderrthreshold=2", "--log-backtrace-at=a.go:7",
                     "--log-json-info-buffer-size=1Mi", "--cloud-provider-gce-l7lb-src-cidrs=10.0.0.0/8,fd00::/8"):
            self.assertEqual(len(parse([good]).notes), 1)

    @since(LAST)
    def test_protection_that_is_not_there(self) -> None:
        """A flag that asks for protection which there is not is refused, unless it is empty."""
        error: ConfigError = self.assertRaises(ConfigError, parse, ["--egress-selector-config-file=x.yaml"])
        self.assertEqual(error.problems, (
            "--egress-selector-config-file: not supported: connections to nodes, webhooks and etcd would bypass the "
            "proxies that it names",
        ))
        self.assertEqual(parse(["--egress-selector-config-file="]), Config())

    def test_deprecated(self) -> None:
        """Flags that will be removed take effect, with a warning (reference VER-7)."""
        config = parse(["--enable-logs-handler=false"])
        self.assertFalse(config.generic.enable_logs_handler)
        self.assertEqual([note[:48] for note in config.notes], ["Flag --enable-logs-handler has been deprecated, "])

    def test_stable_gates(self) -> None:
        """Each stable gate that is set by name is said to go, once (reference OPS-23)."""
        config = parse(["--feature-gates=DryRun=false,AllBeta=true,OpenAPIV3=true,WatchBookmark=true,DryRun=true"])
        self.assertEqual(config.notes, (
            "Setting GA feature gate DryRun=true. It will be removed in a future release.",
            "Setting GA feature gate WatchBookmark=true. It will be removed in a future release.",
        ))
