"""Messages: mailboxes, group chats, and the inbox of a user with all its chats.

A mailbox and a chat share one data structure, the log: messages with consecutive numbers, and for
each reader the number up to which it has acknowledged.
"""
