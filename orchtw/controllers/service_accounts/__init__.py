"""Controllers of service accounts: defaults of each namespace, and tokens in Secrets."""
