"""The wheel carries the machine code of all kernels for its platform; the interpreter may be any that is supported.

Its page is README.md without what leads to files beside it, which an index does not have.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class KernelsHook(BuildHookInterface[Any]):
    """Compiles the kernels into the cache, and adds the library to the wheel."""

    PLUGIN_NAME = "kernels"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library, unless the installation is editable: `deltic warmup` compiles for one."""
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root, "src")))
        from deltic.engine.kernels.building import make

        library = make(lambda compiled, total: self.app.display_info(f"{compiled} of {total} kernels are compiled"))
        if library is None:
            raise RuntimeError("a wheel needs a compiler of C, to link the kernels: install one, or name it by CC")
        build_data["force_include"][str(library)] = f"deltic/engine/kernels/{library.name}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data.update(pure_python=False, tag=f"py3-none-{platform}")


class PageHook(MetadataHookInterface):
    """Makes the page that an index shows."""

    PLUGIN_NAME = "page"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the page."""
        text = page(Path(self.root, "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def page(readme: str) -> str:
    """The text without pictures from files, with their captions, and with the mere words of links to files."""
    without = re.sub(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n+(\*[^\n*]+(\n[^\n*]+)*\*\n+)?", "", readme)
    return re.sub(r"\[([^\]]*)\]\((?!https?:|#)[^)]*\)", r"\1", without)
