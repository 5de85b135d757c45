"""Messages: mailboxes, group chats, and the inbox of a user with all its chats.

A mailbox and a chat are two faces of one log: messages numbered without holes, and per reader the
number up to which it has acknowledged. `keys.py` says what is stored, `message.py` what a reader is
given, `log/` is one log, `reader/` what a reader remembers and how it waits, `index/` which chats a
user has, `_async.py` the mailbox and the chat, `inbox/` the inbox.
"""
