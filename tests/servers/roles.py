"""The roles for Elasticsearch that ``docs/security.md`` recommends, and each of them without one of its privileges."""

import copy
import json
import re
from pathlib import Path
from typing import Any

Role = dict[str, Any]

PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def _documented() -> dict[str, Role]:
    found = re.findall(r"^PUT /_security/role/(\w+)\n(\{.*?^\})", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return {name: json.loads(role) for name, role in found}


def _lesser(role: Role) -> dict[str, Role]:
    """Take away one privilege at a time."""
    made = {}
    for place in ({"cluster": role["cluster"]}, *role["indices"]):
        for privilege in place.get("cluster") or place["privileges"]:
            lesser = copy.deepcopy(role)
            for privileges in (lesser["cluster"], *(rights["privileges"] for rights in lesser["indices"])):
                if privilege in privileges:
                    privileges.remove(privilege)
            made[privilege] = lesser
    return made


ROLES = _documented()
"""Names to roles."""

LESSER = {
    f"{name}-without-{privilege.rpartition('/')[2]}": role
    for name, documented in ROLES.items()
    for privilege, role in _lesser(documented).items()
}
"""The same, each without one privilege that its name says."""
