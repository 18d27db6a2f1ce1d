"""Tests of the record of writes."""
