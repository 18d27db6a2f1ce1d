"""Settings of authorization: modes, policy file and webhook."""

from __future__ import annotations

from pathlib import Path

import attrs

from orchtw.config.about import about
from orchtw.config.subjects import subject
from orchtw.flags.flag import DURATION, LIST, PATH, TEXT


@attrs.frozen(kw_only=True)
class AuthorizationWebhookOptions:
    """Options of the mode Webhook."""

    config_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Authorization", "Client configuration (kubeconfig format) of the webhook of mode Webhook.", PATH
        ),
    )
    version: str = attrs.field(
        default="v1beta1",
        metadata=about(
            "Authorization", "Version of SubjectAccessReview to send to the webhook: v1beta1 or v1.", TEXT
        ),
    )
    cache_authorized_ttl_s: float = attrs.field(
        default=300.0,
        metadata=about("Authorization", 'How long the webhook\'s "allowed" responses are cached.', DURATION),
    )
    cache_unauthorized_ttl_s: float = attrs.field(
        default=30.0,
        metadata=about("Authorization", "How long the webhook's other responses are cached.", DURATION),
    )


@attrs.frozen(kw_only=True)
class AuthorizationOptions:
    """Options of authorization modes."""

    mode: tuple[str, ...] = attrs.field(
        default=("Node", "RBAC"),
        metadata=about(
            "Authorization", "Authorization modes, in the order in which they are asked: {authorization_modes}.", LIST
        ),
    )
    policy_file: Path | None = attrs.field(
        default=None,
        metadata=about("Authorization", "Policy file of mode ABAC: one JSON object a line, read at startup.", PATH),
    )
    webhook: AuthorizationWebhookOptions = subject(AuthorizationWebhookOptions, "webhook")
