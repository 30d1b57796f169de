"""Repeats that the data owns, and handlers: section 6 of the contract."""
