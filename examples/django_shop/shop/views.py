"""Sell, and show receipts."""

from django.db import transaction
from django.http import HttpRequest, JsonResponse

from holdfast.django import outbox_enqueue, task_call

from .models import Order
from .tasks import send_receipt


def buy(_request: HttpRequest, number: int) -> JsonResponse:
    """Store an order and its task in one transaction. An odd number is a customer who changes
    their mind: the transaction is rolled back, and no receipt is sent."""
    with transaction.atomic():
        Order.objects.create(number=number)
        result_id = outbox_enqueue(task_call(send_receipt, number))
        if number % 2:
            transaction.set_rollback(True)
    return JsonResponse({"receipt": result_id})


def receipt(_request: HttpRequest, result_id: str) -> JsonResponse:
    """Show how far the receipt is."""
    from django.tasks.exceptions import TaskResultDoesNotExist

    try:
        result = send_receipt.get_result(result_id)
    except TaskResultDoesNotExist:
        return JsonResponse({"status": "NONE"}, status=404)
    text = result.return_value if result.status == "SUCCESSFUL" else ""
    return JsonResponse({"status": result.status, "text": text})
