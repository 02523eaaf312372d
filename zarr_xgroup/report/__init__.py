"""What a store says, told: explained, checked against the conventions, and drawn."""
