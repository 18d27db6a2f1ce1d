"""Settings of authorization: modes, policy file and webhook."""

from __future__ import annotations

from pathlib import Path

from orchtw.config.about import about
from orchtw.config.subjects import options, setting, subject
from orchtw.flags.flag import DURATION, LIST, PATH, TEXT


@options
class AuthorizationWebhookOptions:
    """Options of the mode Webhook."""

    config_file: Path | None = setting(
        default=None,
        metadata=about(
            "Authorization", "Client configuration (kubeconfig format) of the webhook of mode Webhook.", PATH
        ),
    )
    version: str = setting(
        default="v1beta1",
        metadata=about(
            "Authorization", "Version of SubjectAccessReview to send to the webhook: v1beta1 or v1.", TEXT
        ),
    )
    cache_authorized_ttl_s: float = setting(
        default=300.0,
        metadata=about("Authorization", 'How long the webhook\'s "allowed" responses are cached.', DURATION),
    )
    cache_unauthorized_ttl_s: float = setting(
        default=30.0,
        metadata=about("Authorization", "How long the webhook's other responses are cached.", DURATION),
    )


@options
class AuthorizationOptions:
    """Options of authorization modes."""

    mode: tuple[str, ...] = setting(
        default=("Node", "RBAC"),
        metadata=about(
            "Authorization", "Authorization modes, in the order in which they are asked: {authorization_modes}.", LIST
        ),
    )
    config_file: Path | None = setting(
        default=None,
        metadata=about(
            "Authorization",
            "AuthorizationConfiguration file: authorizers in order, with several webhooks. It takes the place of "
            "--authorization-mode and of the flags of the webhook.",
            PATH,
            flag="authorization-config",
        ),
    )
    policy_file: Path | None = setting(
        default=None,
        metadata=about("Authorization", "Policy file of mode ABAC: one JSON object a line, read at startup.", PATH),
    )
    webhook: AuthorizationWebhookOptions = subject(AuthorizationWebhookOptions, "webhook")

    @property
    def source(self) -> str:
        """Return where the authorizers come from: the modes, or the file that names them."""
        return ",".join(self.mode) if self.config_file is None else str(self.config_file)
