"""Examples for every head: kept by a survey in the same pass, or looked for on demand."""
