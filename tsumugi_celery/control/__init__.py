"""List, pause, resume, trigger: the one service behind Python, REST and the command line."""
