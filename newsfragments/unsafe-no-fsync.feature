`--unsafe-no-fsync` lets the embedded store answer writes before they are on the disk, for tests.
