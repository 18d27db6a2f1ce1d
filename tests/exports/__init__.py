"""Tests of exports: their lines, and what is written from them."""
