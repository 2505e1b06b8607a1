"""What people run: demo, explanations, documentation generators."""
