"""What a plan costs: seconds, bytes, and what lies in memory at a time."""
