"""Tests of priority and fairness (`orchtw/flowcontrol`)."""
