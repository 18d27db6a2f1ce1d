Creating an object like no other takes a fifth less CPU: its managed fields are found in the order in which they are written. Random UUIDs are read in batches.
