"""Deltic imported from a zip, as executors of Spark get it by --py-files.

Catches machine code that is looked for beside the sources only, and compiled again, or missed, on each executor.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import deltic
from deltic.engine.kernels.files import SOURCES
from deltic.engine.kernels.loading import find, load

KERNEL = "settle.totals"
CALL = """
import sys
sys.path[:0] = sys.argv[1:]
from deltic.engine.kernels.loading import find, load
print(find(), load.__module__, __import__("deltic").__file__)
load(sys.argv[-1])
"""


def zipped(path):
    """Make what a wheel has: the package, with the machine code of its kernels."""
    load(KERNEL)
    package = Path(deltic.__file__).parent
    with ZipFile(path, "w") as file:
        for source in package.rglob("*.*"):
            if source.suffix not in (".pyc", ".so"):
                file.write(source, source.relative_to(package.parent))
        file.write(find(), SOURCES.relative_to(package.parent) / find().name)


def test_machine_code_in_a_zip_is_copied_to_the_cache(tmp_path):
    zipped(tmp_path / "deltic.zip")
    (tmp_path / "cache").mkdir(mode=0o700)
    command = [sys.executable, "-S", "-c", CALL, str(tmp_path / "deltic.zip"), sysconfig.get_path("purelib"), KERNEL]
    environment = {"PATH": os.environ["PATH"], "DELTIC_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == str(tmp_path / "cache" / find().name)
    assert str(tmp_path / "deltic.zip") in done.stdout.split()[2]
