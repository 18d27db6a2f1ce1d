"""Tests of the supervisor of worker processes."""
