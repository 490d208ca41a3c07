"""What tests say of single heads."""
