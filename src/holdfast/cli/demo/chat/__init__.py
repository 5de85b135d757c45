"""`holdfast demo chat`: phones whose connections come and go, and nothing is lost."""
