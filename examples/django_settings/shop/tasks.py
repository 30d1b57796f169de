"""Tasks of the Django project."""

from celery import shared_task


@shared_task
def send_mail(kind: str) -> str:
    """Stand for what a project would send."""
    return f"sent {kind}"
