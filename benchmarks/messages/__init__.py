"""Mailboxes and chats beside the textbook's chat.

`parts.py` lists the tables, one module each; `textbook.py` is what everybody builds first. All run
in this process: with threads or coroutines, as the table names them.
"""
