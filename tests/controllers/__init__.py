"""Tests of `orchtw.controllers`."""
