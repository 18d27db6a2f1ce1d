"""Tests of Services that lead to pods."""
