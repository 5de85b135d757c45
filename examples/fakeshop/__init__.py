"""Fake Web Retailer's flash sale: stock rows that everybody reads, and a database that lives."""

from .database import database
from .sale import Sale, Snapshot
from .staff import PeopleFailed, Staff

__all__ = ["PeopleFailed", "Sale", "Snapshot", "Staff", "database"]
