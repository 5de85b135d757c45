"""Show the queues, locks, chats and so on of one namespace in a browser, and operate them."""
