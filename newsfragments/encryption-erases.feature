With encryption at rest the embedded store overwrites what is deleted; when the last value has been sealed anew, older states are forgotten, and the log says so.
