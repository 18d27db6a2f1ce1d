The flags of the release for log files and clouds are taken, and the log says that they have no effect.
