"""Django settings: only what this example needs."""

import os

SECRET_KEY = os.environ.get("SECRET_KEY", "only-for-this-example")
INSTALLED_APPS: list[str] = []
USE_TZ = True

CELERY_BROKER_URL = os.environ.get("BROKER_URL", "redis://localhost:6379/0")
CELERY_TSUMUGI_DATABASE_URL = os.environ.get("LEDGER_URL", "sqlite:///tsumugi.sqlite3")
CELERY_TSUMUGI_BINDINGS = {"Mail": {"task": "shop.tasks.send_mail", "priority": 5}}
CELERY_BEAT_SCHEDULE = {
    "digest": {
        "binding": "Mail",
        "payload": {"kind": "digest"},
        "cron": "0 20 * * *",
        "timeZone": "Europe/Berlin",
    },
    "heartbeat": {"binding": "Mail", "payload": {"kind": "ping"}, "everyMs": 2000},
}
