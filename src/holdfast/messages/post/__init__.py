"""What all mailboxes, chats and inboxes of a client share."""
