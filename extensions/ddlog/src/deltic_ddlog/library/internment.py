"""The functions of `internment`, whose values are what they stand for; those of strings are those of `ddlog_std`."""

from deltic_ddlog.library import strings
from deltic_ddlog.natives import natives

natives("internment", {"intern ival": lambda value: value})

__all__ = ["strings"]
