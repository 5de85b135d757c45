"""`holdfast demo market`: many sellers and buyers on one market, guarded in three ways."""
