"""What variables are read from, and the lazy variables made of that."""
