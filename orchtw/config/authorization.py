"""Settings of authorization: modes, policy file and webhook."""

from __future__ import annotations

from pathlib import Path

import attrs

from orchtw.config.about import about
from orchtw.flags.flag import DURATION, LIST, PATH, TEXT


@attrs.frozen(slots=False, kw_only=True)
class Authorization:
    """The settings of authorization."""

    authorization_mode: tuple[str, ...] = attrs.field(
        default=("Node", "RBAC"),
        metadata=about(
            "Authorization", "Modes in the order in which they are asked: {authorization_modes}.", LIST
        ),
    )
    authorization_policy_file: Path | None = attrs.field(
        default=None,
        metadata=about("Authorization", "Policies of mode ABAC: a JSON object on each line, read once.", PATH),
    )
    authorization_webhook_config_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Authorization", "Client configuration (kubeconfig) of the server that mode Webhook asks.", PATH
        ),
    )
    authorization_webhook_version: str = attrs.field(
        default="v1beta1",
        metadata=about("Authorization", "Version of SubjectAccessReview that it is asked in: v1beta1 or v1.", TEXT),
    )
    authorization_webhook_cache_authorized_ttl_s: float = attrs.field(
        default=300.0, metadata=about("Authorization", "Time for which its permissions are remembered.", DURATION)
    )
    authorization_webhook_cache_unauthorized_ttl_s: float = attrs.field(
        default=30.0,
        metadata=about("Authorization", "Time for which its other answers are remembered.", DURATION),
    )
