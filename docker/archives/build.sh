#!/bin/bash
# Build images of the servers without pulling anything: a Debian base by debootstrap from the mirror that this machine's
# apt uses, and the vendors' archives from Maven Central. Images that are there already are not built again.
#
# Needs Debian, root, debootstrap, Maven, Python 3.10 or later and a Docker daemon (see with-dockerd.sh).
# Usage: build.sh [elasticsearch7] [elasticsearch9] [opensearch3]        all three where none is named
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PYTHONPATH=$here/../../tests
export DOCKER_BUILDKIT=0 # the builder that needs no plugin
base=cptw-search/java:21
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT

has_image() {
    docker image inspect "$1" > "$work/log" 2>&1
}

# Debian 13: its Java 21 runs all three servers; the Java 17 of Debian 12 runs only the oldest.
build_base() {
    local mirror
    # shellcheck disable=SC2016 # apt's own variable
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | sed 1q)
    if ! debootstrap --variant=minbase --include=curl,openjdk-21-jre-headless trixie "$work/base" "$mirror" \
        > "$work/log"; then
        tail -n 20 "$work/log" >&2
        return 1
    fi
    tar --create --directory "$work/base" --exclude=./var/cache/apt --exclude=./var/lib/apt/lists . \
        | docker import - "$base"
    rm -rf "$work/base"
}

build_server() {
    local name=$1 image=$2 product=$3
    mkdir "$work/$name"
    python3 -m servers.archives "$name" "$work/$name/home"
    mkdir "$work/$name/home/data" # else a volume there would belong to root
    cp "$here/Dockerfile" "$here/entrypoint.sh" "$work/$name"
    docker build --quiet --tag "$image" --build-arg PRODUCT="$product" "$work/$name"
    rm -rf "${work:?}/$name"
}

has_image "$base" || build_base
while read -r name image product; do
    if [[ $# -eq 0 || " $* " == *" $name "* ]]; then
        has_image "$image" || build_server "$name" "$image" "$product"
        echo "$image"
    fi
done < <(python3 -m servers.kinds)
