"""Tests of the commands `orchtw completion` and `orchtw man`."""
