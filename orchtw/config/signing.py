"""Settings of the signers of certificates."""

from __future__ import annotations

from pathlib import Path

import attrs

from orchtw.config.about import about
from orchtw.flags.flag import DURATION, PATH


@attrs.frozen(slots=False, kw_only=True)
class Signing:
    """The settings of certificate signing."""

    cluster_signing_cert_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Certificate signing", "PEM CA that signs for every signer; empty: the server's own.", PATH
        ),
    )
    cluster_signing_key_file: Path | None = attrs.field(
        default=None, metadata=about("Certificate signing", "PEM private key of --cluster-signing-cert-file.", PATH)
    )
    cluster_signing_orch_apiserver_client_cert_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Certificate signing", "PEM CA that signs for clients; signers without a CA do not sign then.", PATH
        ),
    )
    cluster_signing_orch_apiserver_client_key_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Certificate signing", "PEM private key of --cluster-signing-orch-apiserver-client-cert-file.", PATH
        ),
    )
    cluster_signing_orchlet_client_cert_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Certificate signing", "PEM CA that signs nodes' client certificates.", PATH
        ),
    )
    cluster_signing_orchlet_client_key_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Certificate signing", "PEM private key of --cluster-signing-orchlet-client-cert-file.", PATH
        ),
    )
    cluster_signing_orchlet_serving_cert_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Certificate signing", "PEM CA that signs nodes' serving certificates.", PATH
        ),
    )
    cluster_signing_orchlet_serving_key_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Certificate signing", "PEM private key of --cluster-signing-orchlet-serving-cert-file.", PATH
        ),
    )
    cluster_signing_legacy_unknown_cert_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Certificate signing", "PEM CA that signs for the legacy signer.", PATH
        ),
    )
    cluster_signing_legacy_unknown_key_file: Path | None = attrs.field(
        default=None,
        metadata=about(
            "Certificate signing", "PEM private key of --cluster-signing-legacy-unknown-cert-file.", PATH
        ),
    )
    cluster_signing_duration_s: float = attrs.field(
        default=8760 * 3600.0,
        metadata=about("Certificate signing", "Longest life of a certificate that is signed.", DURATION),
    )
