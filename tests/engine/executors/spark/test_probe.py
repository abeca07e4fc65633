"""Executors that cannot run Deltic's jobs, on a real cluster: found out before the first job, with the remedy.

Catches an epoch that fails in its middle with a trace, one whose state is in as many directories as there are machines,
and a look that an executor which is fit does not pass.
"""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pyspark
import pytest

import deltic
from tests import s3
from tests.engine.kernels.test_zipped import zipped
from tests.standalone import Driver, Standalone

SUBMIT = Path(pyspark.__file__).parent / "bin/spark-submit"
pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Standalone(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def one_epoch(spark, directory):
    """The rows of a view after an epoch by a job, or the error. Its text is a program of its own, too."""
    from deltic.engine.executors.spark import costs

    costs.FEW = -1
    shards = deltic.Shards(2, directory=directory, executor="job")
    pipeline = deltic.Pipeline(spark, engine="spark", shards=shards)
    pipeline.sql("CREATE TABLE t (x BIGINT, y BIGINT); CREATE VIEW v AS SELECT x, sum(y) AS s FROM t GROUP BY x")
    try:
        with pipeline.transaction() as change:
            change.insert("t", [(1, 2), (1, 3), (2, 4)])
        return sorted(pipeline["v"])
    except deltic.DelticError as error:
        return str(error)


def driver_of(tmp_path, cluster, **settings):
    """A driver that waits longer than the default for the executors of a busy machine."""
    return Driver(tmp_path, cluster.master, **{"spark.deltic.patience": "150", **settings})


def test_executors_that_are_fit(cluster, tmp_path):
    driver = driver_of(tmp_path, cluster)
    try:
        assert driver.run(one_epoch, str(tmp_path / "shards")) == [(1, 5), (2, 4)]
        assert not list((tmp_path / "shards").glob("probe-*"))
    finally:
        driver.close()


def test_executors_that_do_not_see_the_directory(cluster, tmp_path):
    """`/proc/self/cwd` is another directory for each process."""
    driver = driver_of(tmp_path, cluster)
    try:
        told = driver.run(one_epoch, "/proc/self/cwd/shards-of-a-test")
    finally:
        driver.close()
    assert "the executors of Spark cannot run Deltic's jobs, and nothing was changed" in told
    assert "the directory of the shards: it is not there, or another one" in told
    assert "has to be the same directory on all machines" in told


def test_executors_without_deltic(cluster, tmp_path):
    missing = tmp_path / "missing" / "deltic" / "__init__.py"
    missing.parent.mkdir(parents=True)
    missing.write_text("""raise ModuleNotFoundError("No module named 'deltic'")""")
    driver = driver_of(tmp_path, cluster, spark_executorEnv_PYTHONPATH=str(missing.parent.parent))
    try:
        told = driver.run(one_epoch, str(tmp_path / "shards"))
    finally:
        driver.close()
    assert "ModuleNotFoundError: No module named 'deltic'" in told
    assert "venv-pack" in told
    assert len(told.splitlines()) < 8


def add_others(packages):
    """Let a Python find what the tests' one has; as a statement, since venv-pack refuses paths to elsewhere."""
    Path(packages, "others.pth").write_text(f"import sys; sys.path.append({sysconfig.get_path('purelib')!r})\n")


def without_deltic(folder):
    """A Python that has what Deltic requires, and not Deltic: a file of paths in it leads to others' packages."""
    venv.create(folder)
    packages = sysconfig.get_path("purelib", "venv", {"base": str(folder)})
    add_others(packages)
    return str(folder / "bin/python"), packages


PROGRAM = """
import sys
import deltic
from pyspark.sql import SparkSession
from program_parts import one_epoch

print("found", one_epoch(SparkSession.builder.getOrCreate(), sys.argv[1]), deltic.__file__)
"""


def test_a_program_that_is_submitted(cluster, tmp_path):
    """With Deltic and a module of its own as --py-files; its driver has no other Deltic."""
    python, _ = without_deltic(tmp_path / "env")
    zipped(tmp_path / "deltic.zip")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "program_parts.py").write_text("import deltic\n\n\n" + inspect.getsource(one_epoch))
    files = f"{tmp_path}/deltic.zip,{tmp_path}/program_parts.py"
    command = [str(SUBMIT), "--master", cluster.master, "--py-files", files, "--executor-memory", "512m"]
    command += ["--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.deltic.patience=150"]
    command += [str(tmp_path / "program.py"), str(tmp_path / "shards")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"found [(1, 5), (2, 4)] {tmp_path}/deltic.zip/deltic/__init__.py" in done.stdout


def of_conda(folder):
    """An environment as conda makes it: a Python of its own, which has what Deltic requires, as above."""
    version, base = f"python{sys.version_info[0]}.{sys.version_info[1]}", Path(sys.base_prefix)
    left_out = shutil.ignore_patterns("site-packages", "test", "config-*", "__pycache__", "*.a")
    shutil.copytree(base / "lib" / version, folder / "lib" / version, symlinks=True, ignore=left_out)
    for name in ("conda-meta", "bin", f"lib/{version}/site-packages"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "conda-meta" / "history").touch()
    shutil.copy(base / "bin" / version, folder / "bin" / "python")
    packages = folder / "lib" / version / "site-packages"
    add_others(packages)
    return packages


@pytest.mark.parametrize("way", ["zip", "venv_pack", "conda_pack"])
def test_executors_that_are_sent_deltic(cluster, tmp_path, way):
    zipped(tmp_path / "deltic.zip")
    settings = {"python": "./env/bin/python", "spark.archives": f"{tmp_path}/env.tar.gz#env"}
    if way == "zip":
        python, _ = without_deltic(tmp_path / "env")
        settings = {"python": python, "spark.submit.pyFiles": str(tmp_path / "deltic.zip")}
    else:
        tool, env = pytest.importorskip(way), tmp_path / "env"
        packages = of_conda(env) if way == "conda_pack" else without_deltic(env)[1]
        shutil.unpack_archive(tmp_path / "deltic.zip", packages)
        tool.pack(prefix=str(env), output=str(tmp_path / "env.tar.gz"))
        shutil.rmtree(env)
    driver = driver_of(tmp_path, cluster, spark_executorEnv_PYTHONPATH="", **settings)
    try:
        assert driver.run(one_epoch, str(tmp_path / "shards")) == [(1, 5), (2, 4)]
    finally:
        driver.close()


def test_shards_in_an_object_store(cluster, tmp_path, monkeypatch):
    server = s3.Server("versitygw", tmp_path / "objects")
    s3.use(monkeypatch, server.port)
    keys = {f"spark.executorEnv.{name}": value for name, value in s3.environment(server.port).items()}
    driver = driver_of(tmp_path, cluster, **keys)
    try:
        assert driver.run(one_epoch, f"s3://{s3.BUCKET}/shards") == [(1, 5), (2, 4)]
        driver.close()
        driver = driver_of(tmp_path, cluster, **keys | {"spark.executorEnv.AWS_SECRET_ACCESS_KEY": "another"})
        told = driver.run(one_epoch, f"s3://{s3.BUCKET}/shards")
        assert "the directory of the shards" in told
        assert "whose keys the executors have" in told
    finally:
        driver.close()
        server.kill()
