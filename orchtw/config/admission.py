"""Settings of admission plugins and their configuration."""

from __future__ import annotations

from pathlib import Path

import attrs

from orchtw.config.about import about
from orchtw.flags.flag import INTEGER, LIST, PATH


@attrs.frozen(slots=False, kw_only=True)
class Admission:
    """The settings of admission."""

    enable_admission_plugins: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about(
            "Admission",
            "Admission plugins to run beside the default ones, of {admission_plugins}; their order is fixed.",
            LIST,
        ),
    )
    disable_admission_plugins: tuple[str, ...] = attrs.field(
        default=(), metadata=about("Admission", "Admission plugins not to run, default ones included.", LIST)
    )
    admission_control: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about(
            "Admission",
            "Admission plugins to run and no others, in place of the two flags above (deprecated).",
            LIST,
        ),
    )
    admission_control_config_file: Path | None = attrs.field(
        default=None,
        metadata=about("Admission", "AdmissionConfiguration: what plugins are configured with.", PATH),
    )
    default_not_ready_toleration_seconds: int = attrs.field(
        default=300,
        metadata=about("Admission", "Time for which pods stay on a node that is not ready.", INTEGER),
    )
    default_unreachable_toleration_seconds: int = attrs.field(
        default=300,
        metadata=about("Admission", "Time for which pods stay on a node that cannot be reached.", INTEGER),
    )
