"""The plugin, by its module: the tests need no installed entry point."""

from tsumugi_celery.testing.plugin import (  # noqa: F401 - fixtures
    _tsumugi_empty_ledger,
    tsumugi_clock,
)
