"""Tests of patches, server-side apply and field ownership (`orchtw.apply`)."""
