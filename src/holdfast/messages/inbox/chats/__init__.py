"""Reads several chats of one user at once."""
