"""The verifier: walks a module once, checks every rule, reports everything, stops at nothing.

Each diagnostic names its rule (`rule_of`). Facts of one operation stand beside their operation's family in this
package; `walk` holds what needs the surroundings.
"""

from collections.abc import Mapping
from types import MappingProxyType

from tilewright.ir.verify import (
    access,
    elementwise,
    independence,
    memory,
    memory_flow,
    regions,
    scopes,
    structure,
    tiles,
    values,
)
from tilewright.ir.verify import (
    kernel_form as form,
)
from tilewright.ir.verify.kernel_form import kernel_form
from tilewright.ir.verify.rule import Rule, rule_of
from tilewright.ir.verify.structure import Accepted
from tilewright.ir.verify.walk import raise_found, verify, verify_or_raise

__all__ = ["RULES", "Accepted", "Rule", "kernel_form", "raise_found", "rule_of", "verify", "verify_or_raise"]

_FAMILIES = (
    structure, values, regions, elementwise, tiles, access, independence, memory, memory_flow, scopes, form,
)  # fmt: skip

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for family in _FAMILIES for rule in family.RULES})
