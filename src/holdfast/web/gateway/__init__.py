"""Serve mailboxes and chats over HTTP and WebSocket."""
