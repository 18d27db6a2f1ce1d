"""Rules of the types that all groups share."""
