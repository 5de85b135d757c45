"""The mail demos: tasks send mails to an SMTP server; checks compare the mails with the events."""
