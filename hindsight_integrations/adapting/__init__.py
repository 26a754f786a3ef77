"""What adapters to agent frameworks share, whichever framework it is."""
