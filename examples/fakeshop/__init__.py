"""Fake Web Retailer's flash sale: stock rows that everybody reads, and a database that lives."""

from .database import database
from .sale import PeopleFailed, Sale, Snapshot

__all__ = ["PeopleFailed", "Sale", "Snapshot", "database"]
