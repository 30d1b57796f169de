"""A Flask app with the dashboard below /tsumugi, and the Celery app that it shows.

In this folder, each in a terminal of its own:

    celery -A app worker --loglevel INFO
    celery -A app beat -S tsumugi_celery.Scheduler --loglevel INFO
    TSUMUGI_TOKEN=a-long-random-text waitress-serve --listen 127.0.0.1:5080 app:web

Then open http://127.0.0.1:5080/ and sign in with the token.
"""

import os

from celery import Celery
from celery.schedules import crontab
from flask import Flask

from tsumugi_celery import define_tsumugi
from tsumugi_celery.web import bearer_auth, create_blueprint

app = Celery("shop", broker=os.environ.get("BROKER_URL", "redis://localhost:6379/0"))


@app.task
def check_stock(warehouse: str) -> str:
    """Do what has to be done every five seconds."""
    return f"{warehouse} is well stocked"


@app.task
def send_report(until: str) -> str:
    """Do what has to be done every morning."""
    return f"sent, up to {until}"


tsumugi = define_tsumugi(
    app,
    schedules={
        "check-stock": {
            "binding": check_stock,
            "payload": {"warehouse": "Osaka"},
            "everyMs": 5000,
        },
        "morning-report": {
            "binding": send_report,
            "payload": lambda run: {"until": run.scheduled_at.isoformat()},
            "cron": "0 9 * * 1-5",
            "timeZone": "Asia/Tokyo",
            "maxAttempts": 3,
        },
        "Celery's own form": {
            "task": send_report.name,
            "schedule": crontab(hour=7, minute=30),
            "args": ("now",),
        },
    },
    database_url=os.environ.get("LEDGER_URL", "sqlite:///tsumugi.sqlite3"),
)


def make_web() -> Flask:
    """Without a token in the environment nobody comes in: everything answers 404."""
    flask_app = Flask("shop")
    token = os.environ.get("TSUMUGI_TOKEN")
    auth = bearer_auth(token, cookie="shop_tsumugi") if token else None
    blueprint = create_blueprint(tsumugi, auth=auth, flower_url=os.environ.get("FLOWER_URL"))
    flask_app.register_blueprint(blueprint, url_prefix="/tsumugi")

    @flask_app.get("/")
    def home() -> str:
        return '<p>The shop. <a href="/tsumugi/">Its schedules</a></p>'

    return flask_app


web = make_web()
