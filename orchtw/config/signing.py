"""Settings of the certificate signers."""

from __future__ import annotations

from pathlib import Path

from orchtw.config.about import about
from orchtw.config.subjects import options, setting
from orchtw.flags.flag import DURATION, PATH


@options
class SigningOptions:
    """Options of the certificate signers."""

    cert_file: Path | None = setting(
        default=None,
        metadata=about(
            "Certificate signing",
            "CA certificate (PEM) of all certificate signers; empty means the server's own CA.",
            PATH,
        ),
    )
    key_file: Path | None = setting(
        default=None, metadata=about("Certificate signing", "Private key (PEM) of --cluster-signing-cert-file.", PATH)
    )
    orch_apiserver_client_cert_file: Path | None = setting(
        default=None,
        metadata=about(
            "Certificate signing",
            "CA certificate (PEM) of the signer for API clients. Once a signer has a CA of its own, those "
            "without one do not sign.",
            PATH,
        ),
    )
    orch_apiserver_client_key_file: Path | None = setting(
        default=None,
        metadata=about(
            "Certificate signing", "Private key (PEM) of --cluster-signing-orch-apiserver-client-cert-file.", PATH
        ),
    )
    orchlet_client_cert_file: Path | None = setting(
        default=None,
        metadata=about(
            "Certificate signing", "CA certificate (PEM) of the signer for node agents' client certificates.", PATH
        ),
    )
    orchlet_client_key_file: Path | None = setting(
        default=None,
        metadata=about(
            "Certificate signing", "Private key (PEM) of --cluster-signing-orchlet-client-cert-file.", PATH
        ),
    )
    orchlet_serving_cert_file: Path | None = setting(
        default=None,
        metadata=about(
            "Certificate signing", "CA certificate (PEM) of the signer for node agents' serving certificates.", PATH
        ),
    )
    orchlet_serving_key_file: Path | None = setting(
        default=None,
        metadata=about(
            "Certificate signing", "Private key (PEM) of --cluster-signing-orchlet-serving-cert-file.", PATH
        ),
    )
    legacy_unknown_cert_file: Path | None = setting(
        default=None,
        metadata=about("Certificate signing", "CA certificate (PEM) of the legacy signer.", PATH),
    )
    legacy_unknown_key_file: Path | None = setting(
        default=None,
        metadata=about(
            "Certificate signing", "Private key (PEM) of --cluster-signing-legacy-unknown-cert-file.", PATH
        ),
    )
    duration_s: float = setting(
        default=8760 * 3600.0,
        metadata=about("Certificate signing", "Maximum lifetime of signed certificates.", DURATION),
    )
