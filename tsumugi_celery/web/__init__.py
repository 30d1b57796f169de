"""The Flask side: REST below a blueprint, closed until it is told who may come in."""

from tsumugi_celery.web.auth import BearerAuth, bearer_auth, unsafe_no_auth
from tsumugi_celery.web.blueprint import create_blueprint

__all__ = ["BearerAuth", "bearer_auth", "create_blueprint", "unsafe_no_auth"]
