"""Tests that come as a user comes: public names, the command line, the page."""
