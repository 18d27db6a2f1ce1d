HTTP/2 is offered by default, as in the release, to clients that can speak it; `--http2-max-streams-per-connection=0` means 250 concurrent requests over one connection.
