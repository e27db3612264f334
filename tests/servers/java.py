"""Which Java on this machine runs a server."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from servers.errors import UnavailableError

JVM_FOLDERS = (Path("/usr/lib/jvm"), Path("/Library/Java/JavaVirtualMachines"))


def find(releases: range) -> Path:
    """Return the home of the newest Java of one of the releases."""
    found = {release: home for home in _homes() if (release := _release(home))}
    suitable = [release for release in found if release in releases]
    if not suitable:
        has = ", ".join(str(release) for release in sorted(found)) or "none"
        raise UnavailableError(f"needs a Java from {releases[0]} to {releases[-1]}, the machine has: {has}")
    return found[max(suitable)]


def _homes() -> set[Path]:
    homes = {Path(os.environ["JAVA_HOME"])} if os.environ.get("JAVA_HOME") else set()
    if program := shutil.which("java"):
        homes.add(Path(program).resolve().parents[1])
    for folder in JVM_FOLDERS:
        homes.update(home.resolve() for pattern in ("*", "*/Contents/Home") for home in folder.glob(pattern))
    return homes


def _release(home: Path) -> int | None:
    """Ask the program itself: not every Java has a ``release`` file."""
    program = home / "bin" / "java"
    if not program.exists():
        return None
    answer = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)', answer)
    return int(match[1]) if match else None
