"""Who may come in (section 7 of the contract).

A browser sends cookies along with requests that other sites make it send. So a call that changes
something, and is let in by a cookie, has to prove that it comes from a page of ours: with a header
that no form, and no script of another site, can send (decision 0052).
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from flask import Request, request
from werkzeug import Response

from tsumugi_celery.web.errors import Forbidden, Hidden, Unauthorized

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

    from tsumugi_celery.web.options import Options

View = TypeVar("View", bound=Callable[..., Any])

#: Any value of it is the proof.
PROOF = "X-Tsumugi-CSRF"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class BearerAuth:
    """Lets in who knows the token.

    Args:
        token: the token, or a callable that is given one and says whether it is right.
        cookie: the name of a cookie that may carry the token too, for browsers.
    """

    def __init__(self, token: str | Callable[[str], Any], cookie: str | None = None) -> None:
        """Remember what is right.

        Raises:
            ValueError: an empty token or cookie name would let everyone in, or no one.
            TypeError: neither a text nor a callable.
        """
        if isinstance(token, str):
            if not token.strip():
                raise ValueError("the token is empty; accepted: a long random text, or a callable")
        elif not callable(token):
            raise TypeError(
                f"the token is a {type(token).__name__}; accepted: a text, or a callable that "
                f"is given the token of a request"
            )
        if cookie is not None and not str(cookie).strip():
            raise ValueError(f"cookie is {cookie!r}; accepted: the name of a cookie, or None")
        self._token = token
        self.cookie = cookie

    def __repr__(self) -> str:
        return f"bearer_auth(…, cookie={self.cookie!r})"

    def __call__(self, asking: Request) -> bool:
        """Return whether a request carries the token."""
        given = header_token(asking)
        if given is None and self.cookie is not None:
            given = asking.cookies.get(self.cookie)
        return given is not None and self.is_right(given)

    def is_right(self, given: str) -> bool:
        """Return whether a token is right; compared in constant time."""
        if callable(self._token):
            return bool(self._token(given))
        return hmac.compare_digest(_bytes(given), _bytes(self._token))


def bearer_auth(
    token_or_callable: str | Callable[[str], Any], cookie: str | None = None
) -> BearerAuth:
    """Let in who sends ``Authorization: Bearer <token>``.

    Args:
        token_or_callable: the token, compared in constant time; or a callable that is given the
            token of a request and says whether it is right.
        cookie: the name of a cookie that may carry the token in place of the header, so that a
            browser can log in. Calls that change something then need the header
            ``X-Tsumugi-CSRF`` besides.

    Raises:
        ValueError: an empty token or cookie name.
        TypeError: neither a text nor a callable.
    """
    return BearerAuth(token_or_callable, cookie)


def unsafe_no_auth() -> Callable[[Request], bool]:
    """Let everyone in: whoever reaches the address may run every schedule."""

    def everyone(_asking: Request) -> bool:
        return True

    return everyone


def public(view: View) -> View:
    """Mark a view that is shown before anyone has logged in; it is closed without `auth` too."""
    view.tsumugi_public = True  # type: ignore[attr-defined]
    return view


def guard(options: Options, view: object) -> ResponseReturnValue | None:
    """Let the present request pass, or answer it.

    Args:
        options: of the blueprint.
        view: the view that the request is for.

    Raises:
        Hidden: no `auth` was given.
        Unauthorized: it does not let the request in.
        Forbidden: the request may come from another site.
    """
    if options.auth is None:
        raise Hidden
    if getattr(view, "tsumugi_public", False):
        return None
    answer = options.auth(request)
    if isinstance(answer, Response):
        # A response of the user's own, such as a redirect to a login page.
        return answer
    if not answer:
        raise Unauthorized
    demand_proof(options)
    return None


def demand_proof(options: Options) -> None:
    """Refuse a call that changes something and that another site may have caused.

    Raises:
        Forbidden: such a call.
    """
    if request.method in SAFE or request.headers.get(PROOF) or header_token(request) is not None:
        return
    by_cookie = getattr(options.auth, "cookie", None) in request.cookies
    if by_cookie or _from_elsewhere():
        raise Forbidden


def header_token(asking: Request) -> str | None:
    """Return the bearer token of a request's header, or None."""
    scheme, _, token = asking.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return None
    try:
        # WSGI hands headers over as Latin-1, whatever was sent.
        return token.strip().encode("latin-1").decode()
    except UnicodeError:
        return token.strip()


def _from_elsewhere() -> bool:
    """Return whether a browser says that another site made it send the request."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in {"same-origin", "none"}
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc != request.host


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
