"""Tests of the command `orch-store`."""
