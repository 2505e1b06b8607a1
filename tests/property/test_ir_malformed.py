"""The verifier answers about anything that can be built, and what is broken is never called valid by accident."""

import random

from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue

from tests.property.strategies_ir import Recipe, examples, recipes
from tilewright.core.diagnostics import render
from tilewright.ir.types import BOOL, I64
from tilewright.ir.verify import rule_of, verify


@examples(150)
@given(recipes(), st.integers(0, 2**32))
def test_the_verifier_survives_random_damage(recipe: Recipe, seed: int):
    module = recipe.build()
    chance = random.Random(seed)
    for _ in range(1 + chance.randrange(3)):
        _damage(module, chance)
    for diagnostic in verify(module):
        assert rule_of(diagnostic)
        assert render(diagnostic)


def _damage(module: ModuleOp, chance: random.Random) -> None:
    ops = [op for op in module.walk() if op is not module]
    if not ops:
        return
    op = chance.choice(ops)
    values = [value for other in ops for value in _values(other)]
    kind = chance.randrange(8)
    if kind == 0 and op.properties:
        op.properties.pop(chance.choice(list(op.properties)))
    elif kind == 1 and op.properties:
        op.properties[chance.choice(list(op.properties))] = UnitAttr()
    elif kind == 2 and op.operands and values:
        op.operands[chance.randrange(len(op.operands))] = chance.choice(values)
    elif kind == 3:
        op.operands = [*op.operands, *chance.choices(values, k=1)]
    elif kind == 4 and op.operands:
        op.operands = list(op.operands)[:-1]
    elif kind == 5 and op.results:
        _retype(op.results[0], chance)
    elif kind == 6:
        op.detach()
    elif op.regions and op.regions[0].blocks and op.regions[0].blocks[0].args:
        _retype(op.regions[0].blocks[0].args[-1], chance)


def _values(op: Operation) -> list[SSAValue]:
    return [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]


def _retype(value: SSAValue, chance: random.Random) -> None:
    """Sets the type behind xDSL's back, as a broken pass would."""
    value._type = chance.choice([I64, BOOL, UnitAttr()])  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
