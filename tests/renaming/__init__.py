"""Tests of renaming between vocabularies (`orchtw.renaming`)."""
