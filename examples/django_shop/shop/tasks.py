"""What happens after a sale."""

from django.tasks import task

from .models import Order


@task(queue_name="email")
def send_receipt(number: int) -> str:
    """Write the receipt of an order. A second run writes the same."""
    text = f"receipt of order {number}"
    Order.objects.filter(number=number).update(receipt=text)
    return text
