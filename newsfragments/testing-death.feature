Calls to a test server that has died raise `ServerDied` with the exit status and the log, and fixtures start a new server for the next test.
