"""What is recorded: avals, nodes, primitives, programs, tapes."""
