"""URLs of servers: `patient`."""


def patient(url: str, socket_timeout: float) -> str:
    """*url*, whatever else it says, with so many seconds for each call."""
    return f"{url}{'&' if '?' in url else '?'}socket_timeout={socket_timeout:g}"
