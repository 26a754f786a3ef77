"""Moving a bank: all of it into one file, and from the file into any graph store."""
