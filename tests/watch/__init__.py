"""Tests of `orchtw.watch`; `watching` holds the sink, wire and resource that they share."""
