"""Settings of the process as a whole: data folder, vocabulary, feature gates, log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import attrs

from orchtw.config import feature_gates
from orchtw.config.about import about
from orchtw.flags.flag import BOOLEAN, INTEGER, LEVELS, PAIRS, PATH, SWITCHES, TEXT


@attrs.frozen(kw_only=True)
class GenericOptions:
    """Options of the process as a whole."""

    data_dir: Path = attrs.field(
        default=Path("orch-data"),
        metadata=about("Generic", "Folder for the store, the keys and admin.kubeconfig.", PATH),
    )
    vocabulary: str = attrs.field(
        default="orch",
        metadata=about(
            "Generic",
            "Names to serve under: orch or kubernetes. A data folder of the other vocabulary is rewritten "
            "once, at startup.",
            TEXT,
        ),
    )
    config: Path | None = attrs.field(
        default=None,
        metadata=about("Generic", "YAML file with flags as keys; flags on the command line take precedence.", PATH),
    )
    feature_gates: tuple[tuple[str, str], ...] = attrs.field(
        default=(),
        metadata=about(
            "Generic", "Feature gates to switch, as a comma-separated list of Name=true or Name=false.", SWITCHES
        ),
    )
    runtime_config: tuple[tuple[str, str], ...] = attrs.field(
        default=(),
        metadata=about(
            "Generic",
            "APIs to switch: api/all, api/ga, api/beta, api/alpha or <group>/<version>[/<resource>], each "
            "=true or =false.",
            PAIRS,
        ),
    )
    profiling: bool = attrs.field(
        default=True,
        metadata=about(
            "Generic", "Serve /debug/pprof/ and /debug/flags/ to users who are authorized to read them.", BOOLEAN
        ),
    )
    enable_faults: bool = attrs.field(
        default=False,
        metadata=about(
            "Generic",
            "Serve /debug/faults, where authorized users add rules that make requests fail, wait or break, for tests "
            "of clients.",
            BOOLEAN,
        ),
    )
    enable_logs_handler: bool = attrs.field(
        default=True, metadata=about("Generic", "Serve the files in /var/log under /logs/ (deprecated).", BOOLEAN)
    )

    enable_state_control: bool = attrs.field(
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
        return MappingProxyType(feature_gates.resolve(self.feature_gates, self.vocabulary)[0])


@attrs.frozen(kw_only=True)
class LogOptions:
    """Options of the log."""

    v: int = attrs.field(
        default=0, metadata=about("Generic", "Log verbosity; at 3 and above every request is logged.", INTEGER, "v")
    )
    vmodule: tuple[tuple[str, int], ...] = attrs.field(
        default=(),
        metadata=about("Generic", "Log verbosity by module, as a comma-separated list of pattern=N.", LEVELS),
    )
    format: str = attrs.field(
        default="text",
        metadata=about("Generic", "Format of log lines: text or json.", TEXT, flag="logging-format"),
    )
