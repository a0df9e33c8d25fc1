"""The parts of `./quern gpu`.  command.py is its entry point."""
