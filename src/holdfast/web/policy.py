"""What a page may load and do: what carries its nonce, and nothing from elsewhere."""

from __future__ import annotations

import secrets
from typing import Final

_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'nonce-{nonce}'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action {forms}; "
    "frame-ancestors 'none'"
)


def fresh_policy(*, forms: str = "'none'") -> tuple[str, dict[str, str]]:
    """A nonce for one answer, and the header that lets only what carries it run.

    Args:
        forms: where forms of the page may be sent.
    """
    nonce = secrets.token_urlsafe(16)
    return nonce, {"Content-Security-Policy": _POLICY.format(nonce=nonce, forms=forms)}
