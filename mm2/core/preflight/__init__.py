"""What can be said before a mirror runs, from facts about its clusters."""
