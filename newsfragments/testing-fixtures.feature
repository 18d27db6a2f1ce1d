The unittest and trial mixins show the last writes after failures of fixtures, cleanups and sub-tests, too, and have a namespace of each test and `kubectl`; reports name the faults that struck.
