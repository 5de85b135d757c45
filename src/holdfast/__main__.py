"""Run the command `holdfast` for `python -m holdfast`."""

from .cli import main

if __name__ == "__main__":
    main()
