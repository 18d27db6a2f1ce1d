With the gate AllowUnsafeMalformedObjectDeletion, deletes can be limited to objects that cannot be read.
