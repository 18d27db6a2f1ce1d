"""Tests of `orchtw.client`."""
