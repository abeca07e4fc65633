"""The Java runtime that Spark needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from deltic.errors import DelticError

OLDEST = 17
REMEDY = (
    f"install Java {OLDEST} or later (Debian, Ubuntu: apt install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17) or point JAVA_HOME at it"
)


def require_java(otherwise: str = "") -> None:
    """Raises DelticError unless there is a Java runtime, recent enough, where Spark looks for one.

    `otherwise` is what the message adds to the remedy: what to do without Java.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if java is None:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java on the PATH"
        raise DelticError(f"Spark needs Java, and {where}: {REMEDY}{otherwise}")
    result = _version(java)
    if result is not None and result < OLDEST:
        raise DelticError(f"Spark needs Java {OLDEST} or later, and {java} is version {result}: {REMEDY}{otherwise}")


def _version(java: str) -> int | None:
    """The major version; None when the runtime does not tell it in the usual way."""
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else None
