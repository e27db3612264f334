#!/bin/bash
# Start the server with the settings of the environment (`discovery.type=single-node`), as the official images do.
set -euo pipefail

java=$(readlink --canonicalize "$(command -v java)")
export ES_JAVA_HOME=${java%/bin/java} OPENSEARCH_JAVA_HOME=${java%/bin/java}

settings=(-E network.host=0.0.0.0)
while IFS= read -r -d '' variable; do
    if [[ $variable =~ ^[a-z0-9_]+\.[a-z0-9_.]+= ]]; then
        settings+=(-E "$variable")
    fi
done < /proc/self/environ # not env: bash drops names with dots

program=bin/elasticsearch
[[ -x $program ]] || program=bin/opensearch
exec "$program" "${settings[@]}"
