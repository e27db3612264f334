"""What the helpers raise."""


class UnavailableError(Exception):
    """This machine cannot give the server in this way; the message says what is missing."""


class StartError(Exception):
    """The server was started and did not come up; the message ends with its log."""
