"""The gateway: mailboxes and chats over HTTP and WebSocket."""
