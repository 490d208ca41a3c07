"""What tests say, in sentences."""
