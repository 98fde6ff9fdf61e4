# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Small value types."""

from __future__ import annotations

from operator import index
from typing import Any, NamedTuple

from ._enums import AttributeSemantic, DLDataTypeCode, DLDeviceType

def _checked(value: Any, name: str, low: int, high: int) -> int:
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name}: an integer is needed, not {type(value).__name__}") from None
    if not low <= number <= high:
        raise ValueError(f"{name}: {number} is not between {low} and {high}")
    return number


class _DataTypeFields(NamedTuple):
    code: int
    bits: int
    lanes: int


class DLDataType(_DataTypeFields):
    """The type of an element of a tensor, such as a row. A tuple; str() gives its text, such as float32x3.

    code: the kind of number, a DLDataTypeCode.
    bits: the bits of one lane.
    lanes: the width of the tuple.
    """

    __slots__ = ()

    def __new__(cls, code: int, bits: int, lanes: int = 1) -> DLDataType:
        code = _checked(code, "code", 0, 0xFF)
        try:
            code = DLDataTypeCode(code)
        except ValueError:
            pass
        return super().__new__(cls, code, _checked(bits, "bits", 0, 0xFF), _checked(lanes, "lanes", 0, 0xFFFF))

    def __str__(self) -> str:
        from . import _native

        return _native._data_type_text(*self)


class _DeviceFields(NamedTuple):
    device_type: int
    device_id: int


class DLDevice(_DeviceFields):
    """A device. A tuple.

    device_type: its kind, a DLDeviceType.
    device_id: its number among these; 0 for the CPU.
    """

    __slots__ = ()

    def __new__(cls, device_type: int, device_id: int = 0) -> DLDevice:
        device_type = _checked(device_type, "device_type", -0x80000000, 0x7FFFFFFF)
        try:
            device_type = DLDeviceType(device_type)
        except ValueError:
            pass
        return super().__new__(cls, device_type, _checked(device_id, "device_id", -0x80000000, 0x7FFFFFFF))


class _PlacementFields(NamedTuple):
    device_type: int
    device_id: int
    stream: int
    availability_event: int


class Placement(_PlacementFields):
    """Where an operation works, and which event tells that its data is there. A tuple.

    device_type: the kind of the device, a DLDeviceType.
    device_id: its number among these; 0 for the CPU.
    stream: the stream to work on; 0 for one of the library's own.
    availability_event: recorded after the work that makes the data available; 0 for none.

    What is not there is told by the operation: NOT_FOUND without the extension for the device, NOT_SUPPORTED, or
    INVALID_ARGUMENT for a device that does not exist.
    """

    __slots__ = ()

    def __new__(cls, device_type: int, device_id: int = 0, stream: int = 0, availability_event: int = 0) -> Placement:
        device = DLDevice(device_type, device_id)
        return super().__new__(
            cls,
            device.device_type,
            device.device_id,
            _checked(stream, "stream", 0, 0xFFFFFFFFFFFFFFFF),
            _checked(availability_event, "availability_event", 0, 0xFFFFFFFFFFFFFFFF),
        )

    @classmethod
    def from_dlpack_device(cls, device: Any, *, stream: int = 0, availability_event: int = 0) -> Placement:
        """The placement on the device of an array, or on one that is told.

        device: an object with __dlpack_device__, or a (device_type, device_id) pair.
        stream: the stream to work on; 0 for one of the library's own.
        availability_event: recorded after the work that makes the data available; 0 for none.
        """
        if hasattr(device, "__dlpack_device__"):
            device = device.__dlpack_device__()
        try:
            device_type, device_id = device
        except (TypeError, ValueError):
            raise TypeError("device: a (device_type, device_id) pair or an object with __dlpack_device__ is needed") from None
        return cls(device_type, device_id, stream, availability_event)


class WriteDesc:
    """What Stage.write_attributes() writes to one attribute, in the words of Stage.write_attribute().

    attribute: a name, or its token.
    tensors: an array of any library, or a list of them: for an array attribute one for each prim.
    is_array: whether each prim has a row of its own length. A bool; it is never guessed.
    semantic: what the values mean, an AttributeSemantic.
    index_map: for each prim written the row of tensors that it gets. Not together with mask.
    mask: which of the prims are written: bools, or 64-bit words, which need count.
    count: how many prims are written, the first ones of the query; None for the length of index_map, or all.
    cuda_event, cuda_stream: what is waited for before the values are read; 0 for nothing.
    transfer: hands the memory over: it may be kept instead of copied, and must not be written to any more.
    """

    __slots__ = (
        "attribute",
        "tensors",
        "is_array",
        "semantic",
        "index_map",
        "mask",
        "count",
        "cuda_event",
        "cuda_stream",
        "transfer",
    )

    def __init__(
        self,
        attribute: int | str,
        tensors: Any,
        is_array: bool,
        *,
        semantic: AttributeSemantic | int = AttributeSemantic.NONE,
        index_map: Any = None,
        mask: Any = None,
        count: int | None = None,
        cuda_event: int = 0,
        cuda_stream: int = 0,
        transfer: bool = False,
    ) -> None:
        self.attribute = attribute
        self.tensors = tensors
        self.is_array = is_array
        self.semantic = semantic
        self.index_map = index_map
        self.mask = mask
        self.count = count
        self.cuda_event = cuda_event
        self.cuda_stream = cuda_stream
        self.transfer = transfer

    def __repr__(self) -> str:
        return f"WriteDesc({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


class ReadGroupMeta(NamedTuple):
    """What a read group tells besides its values. A tuple.

    write_floor: the ordinal up to which the attribute was sealed.
    layout_generation: rises when prims get or lose the attribute, and only then.
    """

    write_floor: int
    layout_generation: int
