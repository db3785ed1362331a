"""The programs, in a folder for each group."""
