The store's file shrinks in the background when more than half of it is free.
