"""The only I/O: stores opened and read, other stores followed as far as they are trusted."""
