"""What walks recorded graphs: derivatives, batch levels, values that leave."""
