"""`holdfast demo mail`: thousands of real mails through a real queue."""
