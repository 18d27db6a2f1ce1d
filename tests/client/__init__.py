"""Tests of the controllers' client (`orchtw.client`)."""
