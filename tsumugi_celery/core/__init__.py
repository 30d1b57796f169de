"""What is to run and when: pure functions, with time and chance as arguments."""
