"""Rules of the project that no general tool knows. No server is started here."""
