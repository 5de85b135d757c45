"""URLs of servers: `patient`."""


def patient(url: str, socket_timeout: float) -> str:
    """Return *url* with this timeout for each call."""
    return f"{url}{'&' if '?' in url else '?'}socket_timeout={socket_timeout:g}"
