"""Tests of the metrics (`orchtw.metrics`)."""
