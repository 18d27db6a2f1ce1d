"""Settings of the process as a whole: data folder, vocabulary, feature gates, log."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from orchtw.config import feature_gates
from orchtw.config.about import about
from orchtw.config.releases import NEWEST, OLDEST, Release, release_of
from orchtw.config.subjects import options, setting
from orchtw.flags.flag import BOOLEAN, INTEGER, LEVELS, PAIRS, PATH, SWITCHES, TEXT


@options
class GenericOptions:
    """Options of the process as a whole."""

    data_dir: Path = setting(
        default=Path("orch-data"),
        metadata=about("Generic", "Folder for the store, the keys and admin.kubeconfig.", PATH),
    )
    vocabulary: str = setting(
        default="orch",
        metadata=about(
            "Generic",
            "Names to serve under: orch or kubernetes. A data folder of the other vocabulary is rewritten "
            "once, at startup.",
            TEXT,
        ),
    )
    config: Path | None = setting(
        default=None,
        metadata=about("Generic", "YAML file with flags as keys; flags on the command line take precedence.", PATH),
    )
    feature_gates: tuple[tuple[str, str], ...] = setting(
        default=(),
        metadata=about(
            "Generic", "Feature gates to switch, as a comma-separated list of Name=true or Name=false.", SWITCHES
        ),
    )
    emulated_version: str = setting(
        default=NEWEST,
        metadata=about(
            "Generic",
            f"Release to emulate, from {OLDEST}, which has none of the later additions, to {NEWEST}: features of "
            "later releases are off.",
            TEXT,
        ),
    )
    report_release: str = setting(
        default=OLDEST,
        metadata=about(
            "Generic",
            "Release that /version reports, for clients that refuse old ones. It also decides the forms of errors in "
            "custom resources, and nothing else.",
            TEXT,
        ),
    )
    runtime_config: tuple[tuple[str, str], ...] = setting(
        default=(),
        metadata=about(
            "Generic",
            "APIs to switch: api/all, api/ga, api/beta, api/alpha or <group>/<version>[/<resource>], each "
            "=true or =false.",
            PAIRS,
        ),
    )
    console: bool | None = setting(
        default=None,
        metadata=about(
            "Generic",
            "Serve the console, a page for browsers, at /console: its files to everybody, its data by the rights of "
            "its user. If unset, it is served with --simulate.",
            BOOLEAN,
        ),
    )
    profiling: bool = setting(
        default=True,
        metadata=about(
            "Generic", "Serve /debug/pprof/ and /debug/flags/ to users who are authorized to read them.", BOOLEAN
        ),
    )
    enable_faults: bool = setting(
        default=False,
        metadata=about(
            "Generic",
            "Serve /debug/faults, where authorized users add rules that make requests fail, wait or break, for tests "
            "of clients.",
            BOOLEAN,
        ),
    )
    enable_logs_handler: bool = setting(
        default=True, metadata=about("Generic", "Serve the files in /var/log under /logs/ (deprecated).", BOOLEAN)
    )

    enable_state_control: bool = setting(
        default=False,
        metadata=about(
            "Generic",
            "Serve /debug/state, by which administrators take snapshots of all objects and restore them, for tests; "
            "only with a store of one process.",
            BOOLEAN,
        ),
    )

    @property
    def gates(self) -> Mapping[str, bool]:
        """Return the state of every feature gate."""
        return _gates(self.feature_gates, self.vocabulary, self.emulated_version)

    @property
    def gate_defaults(self) -> Mapping[str, bool]:
        """Return the default state of every feature gate, whichever release is emulated."""
        return {name: gate.default(self.vocabulary) for name, gate in feature_gates.GATES.items()}

    @property
    def reported(self) -> Release:
        """Return the release that /version reports."""
        return release_of(self.report_release)

    @property
    def git_version(self) -> str:
        """Return the version that /version reports, such as `v1.24.0`."""
        return f"v{self.report_release}.0"

    @property
    def emulated(self) -> Release:
        """Return the emulated release as (major, minor)."""
        return release_of(self.emulated_version)


@options
class LogOptions:
    """Options of the log."""

    v: int = setting(
        default=0, metadata=about("Generic", "Log verbosity; at 3 and above every request is logged.", INTEGER, "v")
    )
    vmodule: tuple[tuple[str, int], ...] = setting(
        default=(),
        metadata=about("Generic", "Log verbosity by module, as a comma-separated list of pattern=N.", LEVELS),
    )
    format: str = setting(
        default="text",
        metadata=about("Generic", "Format of log lines: text or json.", TEXT, flag="logging-format"),
    )


@lru_cache(maxsize=8)
def _gates(settings: tuple[tuple[str, str], ...], vocabulary: str, emulated: str) -> Mapping[str, bool]:
    """Return the state of every feature gate: some hundred parts of a server ask for it at the start."""
    return MappingProxyType(feature_gates.resolve(settings, vocabulary, emulated)[0])
