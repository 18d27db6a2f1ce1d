`--stop-at-eof` ends a server with the program that holds the other end of its standard input.
