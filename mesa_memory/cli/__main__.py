"""``python -m mesa_memory.cli`` is the command ``mesa-memory``."""

from mesa_memory.cli import main

if __name__ == "__main__":
    main()
