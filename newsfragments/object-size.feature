A stored object is at most 3 MiB: a patch that would make it larger is refused with 413.
