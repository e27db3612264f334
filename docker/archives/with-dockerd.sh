#!/bin/bash
# Run a command with a Docker daemon: the one that answers already, else one of our own that ends with the command.
# Its images stay in the cache folder for the next time. Nothing of the machine's network rules is changed, and what
# containers publish is reachable from this machine only.
#
# Needs, where no daemon answers: root, dockerd.
# Usage: with-dockerd.sh COMMAND [ARGUMENT...]
set -euo pipefail

if docker info > /dev/null 2>&1; then
    exec "$@"
fi

run=$(mktemp --directory)
root=${XDG_CACHE_HOME:-$HOME/.cache}/cptw-search/docker
mkdir -p "$root"
exec {lock}> "$root.lock"
flock "$lock" # one daemon at a time on these images
export DOCKER_HOST=unix://$run/docker.sock

# pdeathsig: also where this script is killed, the daemon stops, and with it its containers
setpriv --pdeathsig TERM dockerd --host "$DOCKER_HOST" --data-root "$root" --exec-root "$run/exec" \
    --pidfile "$run/docker.pid" --iptables=false --ip6tables=false --ip 127.0.0.1 > "$run/log" 2>&1 &
daemon=$!

# shellcheck disable=SC2317 # called by the trap
stop() {
    kill "$daemon" 2> /dev/null || true
    wait "$daemon" || true
    umount "$run"/exec/netns/* 2> /dev/null || true # dockerd leaves the one of the host network mounted
    rm -rf "$run"
}
trap stop EXIT

for _ in {1..120}; do
    if docker info > /dev/null 2>&1; then
        "$@" {lock}>&-
        exit
    fi
    kill -0 "$daemon" 2> /dev/null || break
    sleep 0.5
done
echo "dockerd did not come up:" >&2
tail -n 20 "$run/log" >&2
exit 1
