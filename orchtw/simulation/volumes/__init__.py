"""Volumes of the simulated cluster: binding, provisioning, expansion, ephemeral claims (SIM-50)."""
