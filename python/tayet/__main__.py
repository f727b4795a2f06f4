"""``python -m tayet module:app``."""

from tayet.command import main

if __name__ == "__main__":
    main()
