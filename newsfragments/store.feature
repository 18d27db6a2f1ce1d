Objects are kept in one embedded SQLite file: a write is answered once it is on disk, and kill -9 at any moment loses no acknowledged write.
