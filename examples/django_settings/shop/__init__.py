"""A Django project whose Celery settings live in `settings.py`."""

from shop.celery import app as celery_app

__all__ = ["celery_app"]
