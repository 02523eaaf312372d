"""From documents to a tree: interpret groups, plan and build their Datasets, and align these."""
