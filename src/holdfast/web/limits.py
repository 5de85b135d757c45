"""Define what each user and each IP address may send to a gateway, and how often."""

from __future__ import annotations

from dataclasses import dataclass

from .. import Limit


@dataclass(frozen=True, slots=True)
class Limits:
    """Defines the limits of a gateway.

    All processes of a namespace count the rates together. Each process counts only its own
    connections and waiting requests (docs/gateway.md#limits).

    Attributes:
        user: cost of the requests and frames of one user. Each costs 1 unit, and more if it is
            expensive (docs/gateway.md#limits).
        address: requests and frames of all users from one address (IPv6: from one /64 network).
        failures: wrong tokens from one address. Requests with valid tokens are not affected.
        request_bytes: bytes in one request body or one frame.
        waiting: open long polls and streams of one user.
        timeout: seconds that one long poll may wait.
        members: members of a chat that a user creates, or adds a member to, through the gateway.
        chats: chats that one user creates.
        invitations: how often one user adds the same other user to chats.
        unanswered: messages from one user to the mailbox of another user who has not answered
            within the period of the limit.
        arriving: WebSockets of one address that have not sent a valid token yet.
        connections: open connections of one address (`holdfast serve` only).
        all_connections: open connections of all addresses (`holdfast serve` only). It is lower if
            the process may not open that many files.
    """

    user: Limit = Limit(200, per=4.0)
    address: Limit = Limit(800, per=4.0)
    failures: Limit = Limit(20, per=20.0)
    request_bytes: int = 3 << 19
    waiting: int = 20
    timeout: float = 60.0
    members: int = 100
    chats: Limit = Limit(50, per=3600.0)
    invitations: Limit = Limit(20, per=4 * 3600.0)
    unanswered: Limit = Limit(200, per=4 * 3600.0)
    arriving: int = 32
    connections: int = 1_000
    all_connections: int = 10_000
