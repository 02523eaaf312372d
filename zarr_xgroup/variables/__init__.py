"""The sources of variables, and the lazy variables made from them."""
