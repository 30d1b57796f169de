"""Runs: a canvas started as one execution, followed until its last task has ended."""
