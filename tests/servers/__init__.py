"""Real search servers for the tests: a URL that was given, a container, or a process of this machine."""
