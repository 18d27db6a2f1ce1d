"""`orch-store`."""
