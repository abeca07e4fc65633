"""Lets numba compile an `Access` to memory, and compiled code recognize contiguous arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from llvmlite.ir import IntType
from numba import njit, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import carray

from deltic.engine.kernels.declaring import Access

_WORD = IntType(64)
_VIEW_WORDS = 4
# What only compiled code calls, and what only Python does: without numba's wrappers for other callers.
inner: Any = partial(njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)
outer: Any = partial(njit, nogil=True, no_cfunc_wrapper=True)


def accesses(access: Access) -> Any:
    """Return the function of compiled code."""
    return _MAKERS[access.kind](getattr(types, access.element))


def _load(element: Any) -> Any:
    def load(typingctx: Any, address: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], context.get_value_type(element).as_pointer())
            return builder.load(builder.gep(pointer, [args[1]]), align=element.bitwidth // 8)

        return element(types.int64, types.int64), codegen

    return intrinsic(load)


def _unaligned(element: Any) -> Any:
    def load(typingctx: Any, address: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(builder.add(*args), context.get_value_type(element).as_pointer())
            return builder.load(pointer, align=1)

        return element(types.int64, types.int64), codegen

    return intrinsic(load)


def _store(element: Any) -> Any:
    def store(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], context.get_value_type(element).as_pointer())
            builder.store(args[2], builder.gep(pointer, [args[1]]), align=element.bitwidth // 8)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, element), codegen

    return intrinsic(store)


def _pointer(element: Any) -> Any:
    def pointer(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(element).as_pointer())

        return types.CPointer(element)(types.int64), codegen

    return intrinsic(pointer)


def _vector(element: Any) -> Any:
    pointer = _pointer(element)

    def vector(address: Any, count: Any) -> Any:
        return carray(pointer(address), (count,))

    return inner()(vector)


def _table(element: Any) -> Any:
    pointer = _pointer(element)

    def table(address: Any, rows: Any, columns: Any) -> Any:
        return carray(pointer(address), (rows, columns))

    return inner()(table)


class Views(types.Type):
    """An address of the arrays of these fields, in their order, four words each; see `component`."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.fields = dict(fields)
        super().__init__(name=f"Views({name})")


@register_model(Views)
class _ViewsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, views: Views) -> None:
        super().__init__(manager, views, _WORD)  # type: ignore[no-untyped-call]


@infer_getattr
class _ViewsTemplate(AttributeTemplate):
    key = Views

    def generic_resolve(self, views: Views, name: str) -> Any:  # type: ignore[override]
        return views.fields.get(name)


@lower_getattr_generic(Views)  # type: ignore[untyped-decorator]
def _field(context: Any, builder: Any, views: Views, address: Any, name: str) -> Any:
    """Return the array whose address is in the field."""
    made, first = views.fields[name], _VIEW_WORDS * list(views.fields).index(name)
    words = builder.inttoptr(address, _WORD.as_pointer())
    entry = [builder.load(builder.gep(words, [_WORD(first + k)])) for k in range(1 + made.ndim)]
    array = make_array(made)(context, builder)
    itemsize = _WORD(made.dtype.bitwidth // 8)
    strides = [itemsize]
    for length in reversed(entry[2:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(entry[0], array.data.type)
    populate_array(array, data, entry[1:], strides, itemsize, None)
    return impl_ret_borrowed(context, builder, made, array._getvalue())


def viewer(views: Views) -> Any:
    """Return the function of compiled code that reads a table of addresses as such views, from one of its rows on."""

    def view(typingctx: Any, table: Any, row: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = make_array(signature.args[0])(context, builder, args[0]).data
            return builder.add(builder.ptrtoint(data, _WORD), builder.mul(args[1], _WORD(8 * _VIEW_WORDS)))

        return views(table, types.int64), codegen

    return intrinsic(view)


_MAKERS: dict[str, Callable[[Any], Any]] = {
    "load": _load,
    "unaligned": _unaligned,
    "store": _store,
    "vector": _vector,
    "table": _table,
}


def is_contiguous(array: Any) -> Any:
    """Return whether the elements follow each other, the last dimension's fastest."""
    size = array.itemsize
    for k in range(array.ndim - 1, -1, -1):
        if array.shape[k] > 1 and array.strides[k] != size:
            return array.size == 0
        size *= array.shape[k]
    return True
