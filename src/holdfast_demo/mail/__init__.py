"""The mail demos: tasks that send mails, and an SMTP server that checks them."""
