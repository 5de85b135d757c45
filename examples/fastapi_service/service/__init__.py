"""A service for orders: FastAPI, SQLAlchemy, an outbox and a worker."""
