"""The Celery app, configured from Django's settings with the prefix CELERY_.

In this folder, with `pip install django 'tsumugi-celery[redis]'`:

    celery -A shop worker --loglevel INFO
    celery -A shop beat -S tsumugi_celery.Scheduler --loglevel INFO
"""

import os

from celery import Celery

# Importing the package is all the workers need; the schedules are in the settings.
import tsumugi_celery  # noqa: F401 - imported for what it installs

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")

app = Celery("shop")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["shop"])
