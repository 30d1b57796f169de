"""What runs inside a Celery worker: guard, tracker, retries, heartbeat."""
