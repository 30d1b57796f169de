"""Fixtures for all tests: servers, and real Celery processes."""

pytest_plugins = ["tests.servers.fixtures", "tests.processes"]
