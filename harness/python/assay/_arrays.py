# SPDX-License-Identifier: Apache-2.0
"""Any array as pointer, shape, strides and type. Nothing is copied that the library can read where it lies; a framework
is never imported, only asked through the object that is from it."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

from ._errors import UsageError
from ._library import Array, encoded
from ._types import BY_FRAMEWORK

# DLPack's code and bits, by the names that NumPy, ml_dtypes, PyTorch and JAX have for a type. uint16 holds bits.
TYPES = {name: (one.code, one.bits) for name, one in BY_FRAMEWORK.items()} | {"uint16": (1, 16)}
KNOWN = ("float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 int8 uint8 int16 int32 int64 complex64 complex128 bool "
         "are judged, and uint16 and uint8 that hold bits, with dtypes={name: \"bf16\"}")

# Types that are judged and hold these exactly.
_WIDER = {"uint32": "int64"}

_HOST_DEVICES = (1, 3, 11)  # kDLCPU, kDLCUDAHost, kDLROCMHost


class GivenArray(NamedTuple):
    owner: Any  # keeps the memory
    pointer: int
    shape: tuple[int, ...]
    strides: Optional[tuple[int, ...]]  # in elements; None: dense, row-major
    code: int
    bits: int


NARROW_INTEGERS = {"int4": "int8", "uint4": "uint8", "int2": "int8", "uint2": "uint8"}  # and types that hold them


def _refuse(name: str, what: str) -> UsageError:
    return UsageError(f"{name}: {what}")


def _type_of(name: str, type_name: str) -> tuple[int, int]:
    found = TYPES.get(type_name)
    if found is None:
        wider = f": give x.astype(\"{_WIDER[type_name]}\"), which holds them exactly" if type_name in _WIDER else ""
        raise _refuse(name, f"elements of type {type_name} are not judged{wider}; {KNOWN}")
    return found


def _from_numpy(array: Any, name: str) -> GivenArray:
    import numpy
    if isinstance(array, numpy.generic):  # whose memory is that of a temporary array each time it is asked for
        array = numpy.asarray(array)
    if isinstance(array, numpy.ma.MaskedArray):
        raise _refuse(name, "masked arrays are not judged; fill the masked elements, and leave their rows out")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.name in NARROW_INTEGERS:  # of ml_dtypes, each in a byte of its own
        array = array.astype(NARROW_INTEGERS[array.dtype.name])
    code, bits = _type_of(name, array.dtype.name)
    strides = None
    if not array.flags.c_contiguous:
        size = array.itemsize
        if any(stride % size for stride in array.strides):  # a field of records
            array = array.copy()
        else:
            strides = tuple(stride // size for stride in array.strides)
    return GivenArray(array, array.__array_interface__["data"][0], array.shape, strides, code, bits)


def _from_torch(tensor: Any, name: str) -> GivenArray:
    if str(tensor.layout) != "torch.strided":
        raise _refuse(name, f"a tensor of layout {tensor.layout} is not judged; give it to_dense()")
    if tensor.device.type == "meta":
        raise _refuse(name, "a tensor on device meta has no elements")
    code, bits = _type_of(name, str(tensor.dtype).partition(".")[2])
    try:
        tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
        return GivenArray(tensor, tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), code, bits)
    except RuntimeError as error:  # fake tensors, those of functorch
        raise _refuse(name, f"this tensor has no elements that can be read: {error}") from None


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    """Header before the tensor in a capsule of DLPack 1.0 and later."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager_ctx", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


def _capsule_of(array: Any) -> Any:
    """A versioned one where the array has it: only that may be of read-only memory."""
    try:
        return array.__dlpack__(max_version=(1, 0))
    except TypeError:  # of before DLPack 1.0
        return array.__dlpack__()


def _tensor_in(capsule: Any, name: str) -> _DLTensor:
    valid, get = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_GetPointer
    valid.restype, valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    if not valid(capsule, b"dltensor_versioned"):
        return _DLTensor.from_address(get(capsule, b"dltensor"))
    versioned = _Versioned.from_address(get(capsule, b"dltensor_versioned"))
    if versioned.major != 1:
        raise _refuse(name, f"it speaks DLPack {versioned.major}.{versioned.minor}, and assay 1; give it as an array of NumPy")
    return versioned.tensor


def _from_dlpack(array: Any, name: str) -> GivenArray:
    """Reads the tensor in place: the capsule, which nobody consumes, frees it."""
    capsule = _capsule_of(array)
    tensor = _tensor_in(capsule, name)
    if tensor.lanes != 1:
        raise _refuse(name, f"elements of {tensor.lanes} lanes are not judged")
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(tensor.strides[:tensor.ndim]) if tensor.strides else None
    return GivenArray((array, capsule), (tensor.data or 0) + tensor.byte_offset, shape, strides, tensor.code, tensor.bits)


def _on_host(array: Any, name: str) -> Any:
    """A framework's own copy in the memory of the host."""
    for method in ("cpu", "get", "numpy", "__array__"):
        if hasattr(array, method):
            return getattr(array, method)()
    raise _refuse(name, f"this {_type_text(array)} is on a device, and offers no way to the host's memory")


def _type_text(array: Any) -> str:
    kind = type(array)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _as_numpy(array: Any, name: str) -> GivenArray:
    import numpy
    return _from_numpy(numpy.asarray(array), name)


def take(array: Any, name: str) -> GivenArray:
    """The array behind any object; `name` is for messages. Raises UsageError."""
    kind = type(array)
    try:
        if kind.__module__ == "numpy" or hasattr(array, "__array_interface__"):
            is_like_numpys = hasattr(array, "flags") and hasattr(array, "dtype")
            return _from_numpy(array, name) if is_like_numpys else _as_numpy(array, name)
        if hasattr(array, "data_ptr") and hasattr(array, "detach"):
            return _from_torch(array, name)
        if hasattr(array, "__dlpack_device__"):
            if int(array.__dlpack_device__()[0]) not in _HOST_DEVICES:
                return take(_on_host(array, name), name)
            try:
                return _from_dlpack(array, name)
            except (BufferError, TypeError, RuntimeError, AttributeError):
                if not hasattr(array, "__array__"):
                    raise
        if hasattr(array, "__array__"):
            return _as_numpy(array, name)
        with memoryview(array):
            return _as_numpy(array, name)
    except UsageError:
        raise
    except (TypeError, BufferError, RuntimeError, AttributeError) as error:
        if isinstance(array, (list, tuple, int, float, complex, str, type(None))):
            raise _refuse(name, f"{_type_text(array)} is no array: its elements have no type; give an array, such as "
                                "numpy.asarray(values, numpy.float32)") from None
        raise _refuse(name, f"{_type_text(array)} is no array that can be read ({error}); give one of NumPy, PyTorch, "
                            "JAX or CuPy, or anything with a buffer, __dlpack__ or __array_interface__") from None


class CArrays:
    """Arrays as the library takes them; keeps what they point to."""

    def __init__(self, given: list[tuple[Optional[str], GivenArray, Optional[str]]]) -> None:
        self._keep: list[Any] = []
        self._arrays = [self._array(name, array, as_type) for name, array, as_type in given]
        self.count = len(given)
        self.pointers = (ctypes.POINTER(Array) * max(1, self.count))(*[ctypes.pointer(a) for a in self._arrays])

    def _array(self, name: Optional[str], given: GivenArray, as_type: Optional[str]) -> Array:
        rank = len(given.shape)
        extents = ctypes.c_int64 * max(1, rank)
        shape = extents(*given.shape)
        strides = None if given.strides is None else extents(*given.strides)
        self._keep += [given, shape, strides]
        return Array(ctypes.sizeof(Array), encoded(name), given.pointer, shape, strides, rank, given.code, given.bits, 1,
                     encoded(as_type, f"dtypes: the type of {name}"))
