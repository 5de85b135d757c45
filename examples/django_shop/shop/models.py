"""An order, and the receipt that a task writes."""

from django.db import models


class Order(models.Model):
    """An order of a customer."""

    number = models.IntegerField(unique=True)
    receipt = models.TextField(default="")

    def __str__(self) -> str:
        return f"order {self.number}"
