"""Which chats a user has: a hint, repaired on reading."""
