"""One log: what is written to the server about a mailbox or a chat, and read from there."""
