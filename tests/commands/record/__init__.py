"""Tests of the command `orch-record`."""
