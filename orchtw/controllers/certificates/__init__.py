"""Controllers of CertificateSigningRequests: approval, signing, and cleanup (reference CSR-1)."""
