"""The controller of Jobs: pods that run to completion (SIM-46)."""
