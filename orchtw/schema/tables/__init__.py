"""Tables and partial metadata, which clients can request in place of objects."""
