"""The pages of the shop."""

from django.urls import path

from shop import views

urlpatterns = [
    path("buy/<int:number>", views.buy),
    path("receipt/<str:result_id>", views.receipt),
]
