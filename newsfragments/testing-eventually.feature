`eventually` of a test server takes the timeout as second argument, reports unusable conditions at once, and waits on when a client library reports 404; `writes` takes the user first.
