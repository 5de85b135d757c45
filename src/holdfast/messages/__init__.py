"""Messages: mailboxes, group chats, and inboxes. An inbox contains all chats of one user.

Mailboxes and chats use the same data structure, the log: messages with consecutive numbers, and for
each reader its cursor, the number up to which it has acknowledged messages.
"""
