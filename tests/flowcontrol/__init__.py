"""Tests of `orchtw/flowcontrol`."""
