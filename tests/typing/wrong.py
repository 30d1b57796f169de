"""Each line that ends in `# wrong` is found by both type checkers, and no other line is."""

from celery import shared_task

from tsumugi_celery.typing import BindingDefinition, JobDefinition, payload_for


@shared_task
def add(x: int, y: int = 0) -> int:
    return x + y


payload_for(add, "one")  # wrong
payload_for(add, 1, z=2)  # wrong
payload_for(add)  # wrong

misspelled: JobDefinition = {"binding": "a", "payload": {}, "evryMs": 1000}  # wrong
without: JobDefinition = {"binding": "a", "everyMs": 1000}  # wrong
overlapping: JobDefinition = {"binding": "a", "payload": {}, "overlap": "never"}  # wrong
text: JobDefinition = {"binding": "a", "payload": {}, "everyMs": "1 minute"}  # wrong
number: JobDefinition = {"binding": 3, "payload": {}}  # wrong
nowhere: BindingDefinition = {"queue": "sync"}  # wrong
