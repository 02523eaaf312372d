"""What is known and interpreted becomes plans, variables, Datasets and a tree."""
