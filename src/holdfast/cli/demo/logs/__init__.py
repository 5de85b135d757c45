"""`holdfast demo logs`: days of events, four who count them, one of them killed, and none lost."""
