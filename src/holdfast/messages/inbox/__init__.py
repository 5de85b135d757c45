"""The inbox: all chats of one user."""
