"""Tests of the controllers (`orchtw.controllers`)."""
