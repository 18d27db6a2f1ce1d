"""Tests of the rules in `orchtw.faults`, without a server."""
