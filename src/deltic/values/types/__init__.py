"""The types of values and of rows."""

from deltic.values.types.schema import Schema
from deltic.values.types.value import Column, Kind, Type, ValueType
