#!/bin/bash
# Install what the server tests need on a new Debian machine, as root. Does nothing where all of it is there.
#
# Maven brings the distribution's Java, which runs Elasticsearch 7.17. A machine without Java 21 or later runs the other
# servers in the containers of docker/archives.
set -euo pipefail

missing=()
command -v mvn > /dev/null || missing+=(maven)
command -v debootstrap > /dev/null || missing+=(debootstrap)
command -v dockerd > /dev/null || missing+=(docker.io)
command -v javac > /dev/null || missing+=(default-jdk-headless)  # compiles a module that API keys need
command -v openssl > /dev/null || missing+=(openssl)  # makes the certificates of servers with TLS

if [[ ${#missing[@]} -gt 0 ]]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update --quiet=2
    # Debian 13 has the docker command in a package of its own
    if ! command -v docker > /dev/null && apt-cache show docker-cli > /dev/null 2>&1; then
        missing+=(docker-cli)
    fi
    apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}"
fi
