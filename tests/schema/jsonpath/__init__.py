"""Tests of orchtw.schema."""
