"""Settings of admission plugins."""

from __future__ import annotations

from pathlib import Path

from orchtw.config.about import about
from orchtw.config.subjects import options, setting
from orchtw.flags.flag import INTEGER, LIST, PATH


@options
class AdmissionOptions:
    """Options of admission plugins."""

    enable_admission_plugins: tuple[str, ...] = setting(
        default=(),
        metadata=about(
            "Admission",
            "Admission plugins to run in addition to the default ones, from: {admission_plugins}. They "
            "run in a fixed order.",
            LIST,
        ),
    )
    disable_admission_plugins: tuple[str, ...] = setting(
        default=(), metadata=about("Admission", "Admission plugins not to run, including default ones.", LIST)
    )
    admission_control: tuple[str, ...] = setting(
        default=(),
        metadata=about(
            "Admission",
            "Admission plugins to run instead of the default ones (deprecated: use the two flags above).",
            LIST,
        ),
    )
    admission_control_config_file: Path | None = setting(
        default=None,
        metadata=about("Admission", "AdmissionConfiguration file with the configuration of admission plugins.", PATH),
    )
    default_not_ready_toleration_seconds: int = setting(
        default=300,
        metadata=about(
            "Admission",
            "How long pods tolerate a node that is not ready, in seconds, unless they say otherwise.",
            INTEGER,
        ),
    )
    default_unreachable_toleration_seconds: int = setting(
        default=300,
        metadata=about(
            "Admission", "How long pods tolerate an unreachable node, in seconds, unless they say otherwise.", INTEGER
        ),
    )
