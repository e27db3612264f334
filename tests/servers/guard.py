"""Run a server for as long as the process that asked for it lives.

``python guard.py FOLDER COMMAND...`` runs the command and watches its own standard input, a pipe whose other end the
tests hold. However they end (normally, by Ctrl-C, by SIGKILL), the system closes the pipe; then the server is stopped
and its folder removed. Guard and server are one process group: a SIGKILL to the group is the server's sudden death.
"""

import os
import select
import shutil
import signal
import subprocess
import sys

NOBODY = 65534  # the servers refuse to run as root
SECONDS_TO_STOP = 20


def main(folder: str, *command: str) -> None:
    """Run the command until it ends or the pipe is closed."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # meant for the server, whose end is waited for
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, **user)
    while server.poll() is None:
        if select.select([sys.stdin], [], [], 0.1)[0]:
            os.killpg(0, signal.SIGTERM)
            try:
                server.wait(SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                server.kill()
            shutil.rmtree(folder, ignore_errors=True)
            break
    os.killpg(0, signal.SIGKILL)  # this process too, so that nothing of the group can outlive it


if __name__ == "__main__":
    main(*sys.argv[1:])
