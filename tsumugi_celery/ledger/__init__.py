"""The tables and what is done to them; the one place that knows databases."""
