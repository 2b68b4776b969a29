"""NamedTuples of arrays as kernels get them: one pointer, whatever they hold.

By value, numba passes a structure of twenty arrays as over a hundred numbers, and copies them with every assignment and every call: most of what LLVM
was given to optimise. Here a kernel's arguments are written to its stack once, and a field is read where it is used. They never change
(what the arrays hold does), which LLVM is told.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_cast,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)


class Given(types.Type):  # type: ignore[misc]
    """The numba type of a NamedTuple that is passed by reference; ``values``: its type by value."""

    def __init__(self, values: types.BaseNamedTuple) -> None:
        self.values = values
        super().__init__(f"Given({values})")

    def can_convert_from(self, context: Any, other: types.Type) -> Any:
        """Arguments of kernels, and what these put together, are NamedTuples by value."""
        return Conversion.safe if other == by_value(self) else None


def by_value(kind: types.Type) -> types.Type:
    """The numba type of the same NamedTuple as numba itself finds it for a value."""
    if not isinstance(kind, Given):
        return kind
    return types.BaseTuple.from_types([by_value(field) for field in kind.values.types], kind.values.instance_class)


@register_model(Given)
class _GivenModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Given) -> None:
        super().__init__(manager, kind, manager.lookup(by_value(kind)).get_value_type().as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Given

    def generic_resolve(self, given: Given, name: str) -> types.Type | None:
        values = given.values
        return values.types[values.fields.index(name)] if name in values.fields else None


@lower_getattr_generic(Given)  # type: ignore[untyped-decorator]
def _field(context: Any, builder: Any, given: Given, pointer: Any, name: str) -> Any:
    at = given.values.fields.index(name)
    return _read(context, builder, given.values.types[at], _place(builder, pointer, at))


def _read(context: Any, builder: Any, kind: types.Type, place: Any) -> Any:
    """The value at a place, number by number: what is not used costs nothing."""
    if isinstance(kind, Given):
        return place
    if isinstance(kind, types.BaseTuple):
        fields = [_read(context, builder, field, _place(builder, place, i)) for i, field in enumerate(kind.types)]
        return context.make_tuple(builder, kind, fields)
    if not isinstance(kind, types.Array):
        return _constant(builder, place)
    found = context.make_array(kind)(context, builder)
    for index, part in enumerate(found._datamodel._fields):
        if part not in ("meminfo", "parent"):
            setattr(found, part, _parts(builder, _place(builder, place, index)))
    return found._getvalue()


def _place(builder: Any, pointer: Any, at: int) -> Any:
    return cgutils.gep_inbounds(builder, pointer, 0, at)


def _parts(builder: Any, place: Any) -> Any:
    """A number, or one for each dimension."""
    kind = place.type.pointee
    if not isinstance(kind, ir.ArrayType):
        return _constant(builder, place)
    return cgutils.pack_array(builder, [_constant(builder, _place(builder, place, i)) for i in range(kind.count)])


def _constant(builder: Any, place: Any) -> Any:
    loaded = builder.load(place)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _kept(builder: Any, value: Any) -> Any:
    """A pointer to the value. It has passed through an instruction that LLVM knows nothing about: what is read from it was written before."""
    pointer = cgutils.alloca_once_value(builder, value)
    same = ir.FunctionType(pointer.type, [pointer.type])
    return builder.asm(same, "", "=r,0,~{memory}", [pointer], True)


@lower_cast(types.BaseTuple, Given)  # type: ignore[untyped-decorator]
def _from_values(context: Any, builder: Any, values: types.Type, given: Given, value: Any) -> Any:
    return _kept(builder, value)


@unbox(Given)  # type: ignore[untyped-decorator]
def _from_python(given: Given, value: Any, c: Any) -> NativeValue:
    kind = by_value(given)
    native = c.unbox(kind, value)

    def release() -> None:
        if native.cleanup is not None:
            native.cleanup()
        if c.context.enable_nrt:
            c.context.nrt.decref(c.builder, kind, native.value)

    return NativeValue(_kept(c.builder, native.value), native.is_error, release)
