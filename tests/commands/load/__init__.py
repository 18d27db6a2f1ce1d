"""Tests of the command `orch-load`."""
