#!/usr/bin/env bash
# Installs the package in three ways and uses it from the checkout's root and from elsewhere.
# Dependencies are borrowed from the environment of $PYTHON, so that nothing is downloaded.
set -euo pipefail
cd "$(dirname "$0")/.."
checkout="$PWD"
python="$(cd "$(dirname "$PYTHON")" && pwd)/$(basename "$PYTHON")"
borrowed="$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$python" -m pip install --quiet 'setuptools>=77' wheel

# A copy: each way of installing leaves files of its own beside the sources.
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$work" 2>/dev/null || true
mkdir "$work/elsewhere"

for way in plain editable strict; do
  "$python" -m venv --without-pip "$work/$way"  # pip and setuptools are borrowed, too
  own="$("$work/$way/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  # Behind the packages of its own: what is installed here wins over the borrowed one.
  echo "import sys; sys.path.append('$borrowed')" > "$own/borrowed.pth"
  options=(--quiet --no-deps --no-build-isolation)
  case "$way" in
    plain) options+=(.) ;;
    editable) options+=(--editable .) ;;
    strict) options+=(--config-settings editable_mode=strict --editable .) ;;
  esac
  (cd "$work" && "$work/$way/bin/python" -m pip install "${options[@]}")
  for folder in "$work" "$work/elsewhere"; do
    (cd "$folder" && "$work/$way/bin/python" - "$way" "$checkout" <<'PYTHON'
import sys
import cptw_indexer, cptw_queries, cptw_search
from importlib.resources import files
way, checkout = sys.argv[1:]
for package in (cptw_search, cptw_indexer, cptw_queries):
    assert not package.__file__.startswith(checkout + "/"), f"{way}: {package.__file__} is the wrong copy"
    assert files(package).joinpath("py.typed").is_file(), f"{way}: {package.__name__} lacks py.typed"
assert cptw_search.Cptw(vectors=None).fit(["a boat"]).vocabulary_ == ["boat"]
PYTHON
      "$work/$way/bin/cptw" --version > /dev/null)
  done
  echo "$way install works from the checkout and from elsewhere"
done
