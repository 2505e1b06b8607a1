from typing import TypeVar

from hypothesis import assume, given
from hypothesis import strategies as st
from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from tests.property.strategies_ir import Recipe, examples, modules, recipes
from tilewright.core.source import Span
from tilewright.ir.attrs import Bounds, BoundsAttr, NumberAttr, Policy, PolicyAttr, UpdateKind, UpdateKindAttr
from tilewright.ir.hash import structural_hash
from tilewright.ir.kernel import Kernel
from tilewright.ir.location import location_of
from tilewright.ir.ops.regions import KernelOp
from tilewright.ir.text import parse_module, print_module
from tilewright.ir.types import AxisAttr, SpaceAttr
from tilewright.ir.verify import verify

M = TypeVar("M")


@examples(40)
@given(modules())
def test_made_modules_are_valid(module: ModuleOp):
    assert not verify(module)


@examples(40)
@given(modules())
def test_parsing_inverts_printing(module: ModuleOp):
    text = print_module(module)
    parsed = parse_module(text)
    assert module.is_structurally_equivalent(parsed)
    assert print_module(parsed) == text


@examples(40)
@given(modules())
def test_parsing_inverts_printing_with_locations(module: ModuleOp):
    text = print_module(module, locations=True)
    parsed = parse_module(text)
    places = [op.location for op in module.walk()]
    assert [op.location for op in parsed.walk()] == places
    assert print_module(parsed, locations=True) == text


@examples(40)
@given(modules())
def test_every_operation_that_is_no_constant_has_a_line_in_the_listing(module: ModuleOp):
    lines = Kernel(module, "k").text(short=True).splitlines()
    shown = sum(1 for op in module.walk() if op.name not in ("tile.constant", "tile.yield", "builtin.module"))
    assert len(lines) >= shown


@examples(60)
@given(recipes())
def test_the_hash_sees_neither_numbers_nor_names_nor_places(recipe: Recipe):
    plain = recipe.build(first_dim=100, decorated=False)
    kernel = next(op for op in plain.walk() if isinstance(op, KernelOp))
    kernel.properties["sym_name"] = StringAttr("other")
    kernel.properties["labels"] = DictionaryAttr({"100": StringAttr("other")})
    for op in plain.walk():
        op.location = location_of(Span("other.py", 9, 1, 9, 2))
    assert structural_hash(plain) == structural_hash(recipe.build())


@examples(60)
@given(recipes(), st.data())
def test_the_hash_sees_every_property(recipe: Recipe, data: st.DataObject):
    module = recipe.build()
    before = structural_hash(module)
    sites = [
        (op, name, changed)
        for op in module.walk()
        if not isinstance(op, KernelOp)
        for name, attr in op.properties.items()
        if (changed := _changed(attr)) is not None
    ]
    assume(sites)
    op, name, changed = data.draw(st.sampled_from(sites))
    op.properties[name] = changed
    assert structural_hash(module) != before


def _changed(attr: Attribute) -> Attribute | None:
    """Another attribute of the same kind; None for kinds that no property states by itself."""
    match attr:
        case PolicyAttr():
            return PolicyAttr(_other(list(Policy), attr.data))
        case BoundsAttr():
            return BoundsAttr(_other(list(Bounds), attr.data))
        case UpdateKindAttr():
            return UpdateKindAttr(_other(list(UpdateKind), attr.data))
        case NumberAttr():
            return NumberAttr(attr.data ^ 1)
        case IntAttr():
            return IntAttr(attr.data + 1)
        case StringAttr():
            return StringAttr(attr.data + "'")
        case SpaceAttr() if attr.rank:
            first = AxisAttr.of(attr.axes[0].dim, attr.axes[0].extent + 1)
            return SpaceAttr.of([first, *attr.axes[1:]])
        case _ if attr in (BoolAttr.from_bool(False), BoolAttr.from_bool(True)):
            return BoolAttr.from_bool(attr == BoolAttr.from_bool(False))
        case _:
            return None


def _other(members: list[M], member: M) -> M:
    return members[(members.index(member) + 1) % len(members)]
