"""Fake Web Retailer's flash sale: stock rows that everybody reads, and a database that lives."""

import sys
from importlib.util import find_spec

if sys.argv[0] == "-m" and find_spec("sqlalchemy") is None:  # while `python -m` imports this
    sys.exit("the example needs sqlalchemy: pip install '.[server,sql]'")

from .database import database
from .sale import Sale, Snapshot
from .staff import PeopleFailed, Staff

__all__ = ["PeopleFailed", "Sale", "Snapshot", "Staff", "database"]
