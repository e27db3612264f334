"""The vendors' server archives: from Maven Central by the machine's own Maven, checked and unpacked.

``python -m servers.archives elasticsearch7 DIRECTORY`` unpacks one for ``docker/archives/build.sh``.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from servers.errors import UnavailableError
from servers.kinds import KINDS, Artifact, Kind

MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"

# Like the descriptors of the modules that are in the archive.
MAPPER_EXTRAS = """\
type=isolated
name=mapper-extras
description=Adds advanced field mappers
classname=org.elasticsearch.index.mapper.MapperExtrasPlugin
version={version}
elasticsearch.version={version}
java.version=1.8
extended.plugins=
has.native.controller=false
"""


def fetch(artifact: Artifact) -> Path:
    """Return the artifact's file, which is downloaded once and checked every time."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cptw-search" / "archives"
    path = cache / artifact.file_name
    if not path.exists():
        _download(artifact, path)
    found = hashlib.sha512(path.read_bytes()).hexdigest()
    if found != artifact.sha512:
        raise ValueError(f"{path} must have the SHA-512 {artifact.sha512}, got {found}; remove it to download it again")
    return path


def _download(artifact: Artifact, path: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise UnavailableError("Maven (mvn), which downloads the archive, is not on the PATH")
    part = path.with_name(path.name + f".{os.getpid()}")  # a run that is cut off leaves no half file under the name
    copy = [maven, "--quiet", "--batch-mode", MAVEN_COPY, f"-Dartifact={artifact.coordinates}"]
    done = subprocess.run([*copy, f"-DoutputDirectory={part}"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(f"Maven could not download {artifact.coordinates}: {done.stdout[-500:].strip()}")
    (part / path.name).replace(path)
    part.rmdir()


def unpack(kind: Kind, directory: Path) -> None:
    """Make ``directory``, which must not exist, a home of the server that is ready to start."""
    part = directory.with_name(directory.name + ".part")
    with zipfile.ZipFile(fetch(kind.archive)) as archive:
        archive.extractall(part)
    (part / f"{kind.product}-{kind.version}").rename(directory)
    part.rmdir()
    for program in (directory / "bin").iterdir():
        program.chmod(0o755)  # zipfile forgets the mode
    if kind.mapper_extras:
        module = directory / "modules" / "mapper-extras"
        module.mkdir()
        shutil.copy(fetch(kind.mapper_extras), module)
        (module / "plugin-descriptor.properties").write_text(MAPPER_EXTRAS.format(version=kind.version))


if __name__ == "__main__":
    name, target = sys.argv[1:]
    unpack(next(kind for kind in KINDS if kind.name == name), Path(target))
