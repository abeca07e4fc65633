"""The functions of `ddlog_std`."""

from deltic_ddlog.library import collections, groups, numbers, options, strings

__all__ = ["collections", "groups", "numbers", "options", "strings"]
