"""The cost of a plan: seconds, bytes, and peak memory."""
