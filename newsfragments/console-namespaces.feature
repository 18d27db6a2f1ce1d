The console shows one namespace on request, so that users with rights in one see its kinds and Events; Events and changes can be filtered, and an object leads to its Events.
