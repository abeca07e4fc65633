"""Pipelines that are opened again: what was acknowledged is there, what is damaged is named.

Catches a transaction that is lost or applied twice, definitions that come back as others, a file that is overwritten or
removed while a manifest names it, a flipped bit that is served, and a second writer.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deltic.engine.files.local import LocalFiles
from deltic.errors import BrokenError, CatalogError, ChangeError, DelticError, StateError
from deltic.pipeline.durability import manifest
from deltic.pipeline.durability.log import segments
from deltic.pipeline.durability.state import StateDirectory
from deltic.pipeline.options import Durability, Recursion
from deltic.pipeline.session import Pipeline
from deltic.pipeline.verifying import repair, verify

SQL = """
CREATE TABLE sale (shop STRING, price INT);
CREATE VIEW total AS SELECT shop, sum(price) AS s, max(price) AS m FROM sale GROUP BY shop;
CREATE VIEW best AS SELECT shop, price FROM sale ORDER BY price DESC LIMIT 2
"""
DATALOG = """
.decl e(x: symbol, y: symbol)
.input e
.decl p(x: symbol, y: symbol)
.output p
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), e(y, z).
"""


def rows(pipeline, name):
    return sorted(map(tuple, (r.values() for r in pipeline[name].to_arrow().to_pylist())), key=repr)


def everything(pipeline):
    return {name: rows(pipeline, name) for name in pipeline}


def sell(pipeline, *sales, **more):
    with pipeline.transaction(**more) as change:
        change.insert("sale", list(sales))


def abandon(pipeline):
    """End a pipeline as a killed process does: what is in memory is gone, and so is the lock."""
    state = pipeline._keeping.state
    state._wait()
    state.files.unlock()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def shop(place):
    pipeline = Pipeline(state=place)
    pipeline.sql(SQL)
    sell(pipeline, ("a", 1), ("b", 5))
    sell(pipeline, ("a", 7), token="seventh", positions={"sales.csv": 70})
    return pipeline


def test_a_new_state_is_empty_and_one_that_is_opened_again_has_all(place):
    with Pipeline(state=place) as pipeline:
        assert not list(pipeline)
        pipeline.sql(SQL)
    with Pipeline(state=place) as pipeline:
        assert list(pipeline) == ["sale", "total", "best"]
        sell(pipeline, ("a", 1))
    with Pipeline(state=place) as pipeline:
        assert rows(pipeline, "total") == [("a", 1, 1)]


@pytest.mark.parametrize("end", [abandon, Pipeline.close, Pipeline.checkpoint])
def test_what_was_acknowledged_is_there(place, shop, end):
    before = everything(shop)
    end(shop)
    if end is Pipeline.checkpoint:
        sell(shop, ("c", 9))
        before = everything(shop)
        abandon(shop)
    again = Pipeline(state=place)
    assert everything(again) == before
    assert again.positions == {"sales.csv": 70}
    assert again.epoch == shop.epoch
    sell(again, ("b", 100), ("z", None))
    assert rows(again, "best") == [("a", 7), ("b", 100)] if end is not Pipeline.checkpoint else True
    expected = everything(again)
    again.close()
    assert everything(Pipeline(state=place)) == expected


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_files_are_their_owners_alone(place, umask):
    """Catches rows that other users of the machine can read, or write over."""
    before = os.umask(umask)
    try:
        with Pipeline(state=place) as pipeline:
            pipeline.sql(SQL)
            sell(pipeline, ("north", 3))
            pipeline.checkpoint()
            sell(pipeline, ("south", 5))
    finally:
        os.umask(before)
    modes = {path: path.stat().st_mode & 0o777 for path in (place, *place.rglob("*"))}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


def test_a_state_whose_files_others_can_read_goes_on(place):
    """One of an earlier version: what is written from now on is private."""
    with Pipeline(state=place) as pipeline:
        pipeline.sql(SQL)
        sell(pipeline, ("north", 3))
    earlier = {path for path in place.rglob("*") if path.is_file()}
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with Pipeline(state=place) as pipeline:
        sell(pipeline, ("south", 5))
        assert rows(pipeline, "total") == [("north", 3, 3), ("south", 5, 5)]
    new = {path for path in place.rglob("*") if path.is_file()} - earlier
    assert new
    assert {path.stat().st_mode & 0o777 for path in new} == {0o600}


def test_a_rejected_transaction_is_not_in_the_log(place):
    with Pipeline(state=place) as pipeline:
        pipeline.table("t", {"n": "int64"}, key="n")
        with pipeline.transaction() as change:
            change.insert("t", [(1,)])
        with pytest.raises(ChangeError), pipeline.transaction(positions={"p": 1}) as change:
            change.insert("t", [(1,)])
        abandon(pipeline)
        assert rows(again := Pipeline(state=place), "t") == [(1,)]
        assert again.positions == {}


def test_all_kinds_of_definitions_come_back(place):
    pipeline = Pipeline(state=place)
    pipeline.sql("CREATE TABLE s (a INT NOT NULL, b STRING); CREATE VIEW v AS SELECT a FROM s")
    pipeline.datalog(DATALOG, "paths.dl")
    pipeline.table("t", {"id": "int64", "tags": "array(string?)?", "x y": "decimal(20, 2)"}, key="id")
    pipeline.table("bag", {"n": "float64"}, bag=True)
    pipeline.view("copy", pipeline.circuit("v"))
    with pipeline.transaction() as change:
        change.insert("s", [(1, "x")])
        change.insert("bag", [(0.5,), (0.5,)])
    pipeline.replace(".decl p(x: symbol, y: symbol)\np(y, x) :- e(x, y).", "turned.dl")
    pipeline.sql("CREATE OR REPLACE VIEW v AS\n  SELECT a + 1 AS a FROM s")
    pipeline.drop("t")
    message, before = str(pipeline.catalog), everything(pipeline)
    abandon(pipeline)
    for _ in range(2):
        with Pipeline(state=place) as again:
            assert str(again.catalog) == message
            assert everything(again) == before
            assert again.epoch == pipeline.epoch


@pytest.mark.law("DBSP §12.1")
def test_random_transactions_checkpoints_and_ends(place):
    rng = random.Random(7)
    plain, open_ = Pipeline(), Pipeline(state=place, durability=Durability(epochs=3))
    for pipeline in (plain, open_):
        pipeline.datalog(DATALOG)
    for step in range(60):
        pairs = {(rng.choice("abcdefg"), rng.choice("abcdefg")) for _ in range(3)}
        assert rows(plain, "e") == rows(open_, "e")
        there = set(rows(plain, "e"))
        for pipeline in (plain, open_):
            with pipeline.transaction() as change:
                change.insert("e", sorted(pairs - there))
                change.delete("e", sorted(pairs & there))
        match rng.randrange(6):
            case 0:
                open_.close()
                open_ = Pipeline(state=place, durability=Durability(epochs=3))
            case 1:
                abandon(open_)
                open_ = Pipeline(state=place, durability=Durability(epochs=3))
            case 2:
                open_.checkpoint()
        assert everything(open_) == everything(plain), step
        assert open_.epoch == plain.epoch


def test_only_what_is_new_is_written(place, shop):
    shop.checkpoint()
    files = LocalFiles(place)
    (first,) = manifest.numbers(files)
    with shop.transaction() as change:
        change.insert("sale", [(f"shop {n}", n) for n in range(200_000)])
    shop.checkpoint()
    large = {n for n in files.names("runs") if files.size(n) > 1 << 20}
    assert large
    sell(shop, ("a", 2))
    shop.checkpoint()
    assert large < set(files.names("runs"))
    assert sum(files.size(n) for n in set(files.names("runs")) - large) < 1 << 20
    assert first not in manifest.numbers(files)


def test_old_manifests_files_and_logs_go(place):
    with Pipeline(state=place, durability=Durability(epochs=5, keep=2)) as pipeline:
        pipeline.sql(SQL)
        for n in range(40):
            sell(pipeline, (f"shop {n}", n))
    files = LocalFiles(place)
    kept = [manifest.read(files, n) for n in manifest.numbers(files)]
    assert len(kept) == 2
    assert set(files.names("runs")) == set().union(*(m.contents.files for m in kept))
    assert len(files.names("runs")) < 20
    assert segments(files)[0][0] <= kept[-1].sequence + 1
    assert len(segments(files)) <= 4


# Damage


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


def test_a_torn_tail_of_the_log_is_cut(place, shop):
    before = everything(shop)
    whole, noted = (place / "log" / "000000000001").read_bytes(), (place / "deltic-state").read_bytes()
    sell(shop, ("q", 3))
    abandon(shop)
    (place / "deltic-state").write_bytes(noted)
    longer = (place / "log" / "000000000001").read_bytes()
    for size in (len(whole) + 1, len(whole) + 23, len(whole) + 24, len(longer) - 1):
        (place / "log" / "000000000001").write_bytes(longer[:size])
        with Pipeline(state=place, durability=Durability(readonly=True)) as again:
            assert everything(again) == before
    border = (len(longer) - 1) // 512 * 512
    assert border > len(whole)
    (place / "log" / "000000000001").write_bytes(longer[:border].ljust(len(longer), b"\0"))
    again = Pipeline(state=place)
    assert everything(again) == before
    sell(again, ("q", 4))
    abandon(again)
    assert ("q", 4) in rows(Pipeline(state=place), "sale")


def shortened(place):
    path = place / "log" / "000000000005"
    path.write_bytes(path.read_bytes()[:-1])


def damaged_and_lost(place):
    """The log after the older manifest, which takes the place of the damaged one."""
    flip(place / "manifests" / "000000000002", -3)
    shutil.rmtree(place / "log")


LOSSES = {
    "the log": lambda place: shutil.rmtree(place / "log"),
    "its last file": lambda place: (place / "log" / "000000000005").unlink(),
    "the end of its last file": shortened,
    "log and manifests": lambda place: (shutil.rmtree(place / "log"), shutil.rmtree(place / "manifests")),
    "the newest manifest and the log": damaged_and_lost,
}


@pytest.mark.parametrize("lost", LOSSES.values(), ids=LOSSES)
def test_acknowledged_records_that_the_log_has_no_more_are_named(place, shop, lost):
    shop.checkpoint()
    for price in (8, 9):
        sell(shop, ("c", price))
        if price == 8:
            shop.checkpoint()
    abandon(shop)
    lost(place)
    for readonly in (False, True):
        with pytest.raises(StateError, match=r"log/ ends with record \d, and record 5 was acknowledged"):
            Pipeline(state=place, durability=Durability(readonly=readonly))
    assert any("record 5 was acknowledged" in entry for entry in verify(place).wrong)


def test_what_is_left_of_a_shortened_log_can_be_had(place, shop):
    before = everything(shop)
    size = (place / "log" / "000000000001").stat().st_size
    sell(shop, ("c", 8))
    abandon(shop)
    os.truncate(place / "log" / "000000000001", size)
    repair(place)
    assert verify(place).wrong == []
    assert everything(Pipeline(state=place)) == before


@pytest.mark.parametrize("removed", ["lock", "lock and the file that says what it is"])
def test_a_removed_lock_lets_no_second_writer_in(place, shop, removed):
    (place / "lock").unlink()
    if removed != "lock":
        (place / "deltic-state").unlink()
    refusal = "another process has it open for writing" if removed == "lock" else "it is a directory of something else"
    with pytest.raises(StateError, match=refusal):
        Pipeline(state=place)
    script = f"import deltic; deltic.Pipeline(state={str(place)!r})"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert refusal in ended.stderr
    if removed == "lock":
        sell(shop, ("c", 8))
        assert ("c", 8) in rows(Pipeline(state=place, durability=Durability(readonly=True)), "sale")


@pytest.mark.parametrize("way", ["removed", "moved", "replaced", "its log removed"])
@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_a_directory_that_vanishes_under_its_writer_is_an_error_at_the_next_write(place, shop, way, has_checkpoint):
    before = everything(shop)
    if has_checkpoint:
        shop.checkpoint()
        sell(shop, ("c", 8))
        before = everything(shop)
    match way:
        case "removed":
            shutil.rmtree(place)
        case "moved":
            place.rename(place.with_name("elsewhere"))
        case "replaced":
            place.rename(place.with_name("elsewhere"))
            shutil.copytree(place.with_name("elsewhere"), place)
        case _:
            shutil.rmtree(place / "log")
    for _ in range(2):
        with pytest.raises(StateError, match=r"removed or replaced"):
            sell(shop, ("d", 9))
    assert everything(shop) == before
    if way in ("removed", "moved"):
        with pytest.raises(StateError, match=r"removed or replaced"):
            shop.checkpoint()
        assert not place.exists()


def _refused(shop):
    with shop.transaction() as change:
        change.delete("sale", [("nobody", 1)])


def _previewed(shop):
    with shop.what_if() as change:
        change.insert("sale", [("c", 8)])
        change.preview()


FAULTS = {
    "in an epoch that is refused": ("deltic.engine.storage.store.Store.roll_back", _refused, "undo an epoch"),
    "behind a preview": ("deltic.engine.storage.store.Store.roll_back", _previewed, "abort epoch 3"),
    "once it is logged": (
        "deltic.engine.executors.inline.executor.InlineExecutor._go_on",
        lambda shop: sell(shop, ("c", 8)),
        "commit epoch 3",
    ),
}


@pytest.mark.parametrize(("fault", "change", "told"), FAULTS.values(), ids=FAULTS)
def test_a_fault_while_an_epoch_is_undone_or_ended_stops_the_pipeline(place, shop, monkeypatch, fault, change, told):
    def fail(*_):
        raise MemoryError("none is left")

    before = everything(shop)
    with monkeypatch.context() as patch:
        patch.setattr(fault, fail)
        with pytest.raises(BrokenError, match=rf"failed to {told}.*MemoryError: none is left.*Open the pipeline again"):
            change(shop)
    uses = [lambda: sell(shop, ("d", 9)), lambda: shop["sale"].to_arrow(), lambda: shop.sql("SELECT * FROM total")]
    for use in (*uses, shop.checkpoint, lambda: shop.sql("CREATE TABLE t (x INT)"), lambda: shop.epoch):
        with pytest.raises(BrokenError, match="Open the pipeline again"):
            use()
    shop.close()
    with Pipeline(state=place) as again:
        assert rows(again, "sale") == sorted([*before["sale"], *([("c", 8)] if "commit" in told else [])], key=repr)
        sell(again, ("d", 9))


def test_any_bit_of_the_log_that_is_flipped_is_named(place, shop):
    abandon(shop)
    path = place / "log" / "000000000001"
    good = path.read_bytes()
    for at in random.Random(1).sample(range(len(good)), 30):
        flip(path, at)
        with pytest.raises(StateError, match=r"log/000000000001.*deltic verify .* --repair"):
            Pipeline(state=place)
        path.write_bytes(good)
    assert everything(Pipeline(state=place)) == everything(shop)


def test_any_bit_of_a_run_file_that_is_flipped_is_named_and_never_served(place, shop):
    shop.close()
    before = everything(shop)
    (path,) = (place / "runs").iterdir()
    good = path.read_bytes()
    named = 0
    for at in random.Random(2).sample(range(64, len(good)), 25):
        flip(path, at)
        with Pipeline(state=place, durability=Durability(readonly=True)) as again:
            for name in before:
                told = served_or_told(again, name, before[name])
                assert not told or (f"runs/{path.name}" in told and "--repair" in told)
                named += bool(told)
        path.write_bytes(good)
    assert named > 5


def served_or_told(pipeline, name, expected):
    """What an error says, where the rows are not what they should be."""
    try:
        assert rows(pipeline, name) == expected
    except StateError as error:
        return str(error)
    return ""


def test_a_damaged_manifest_is_made_good_by_the_one_before_it(place, shop, caplog):
    shop.checkpoint()
    sell(shop, ("c", 9))
    shop.close()
    before = everything(shop)
    newest = place / "manifests" / "000000000002"
    flip(newest, 100)
    with Pipeline(state=place) as again:
        assert everything(again) == before
    assert "manifests/000000000002" in caplog.text
    for path in (place / "manifests").iterdir():
        flip(path, 100)
    with pytest.raises(StateError, match=r"manifests/00000000000.*checksum"):
        Pipeline(state=place)


def test_missing_files_are_named(place, shop):
    shop.checkpoint()
    sell(shop, ("c", 9))
    abandon(shop)
    (runs,) = (place / "runs").iterdir()
    data = runs.read_bytes()
    runs.unlink()
    with pytest.raises(StateError, match=f"runs/{runs.name}"):
        Pipeline(state=place)
    runs.write_bytes(data)
    (place / "log" / "000000000005").unlink(missing_ok=True)
    for name in sorted((place / "log").iterdir())[1:]:
        name.rename(name.with_name("000000000009"))
    with pytest.raises(StateError, match=r"the records from .* are missing"):
        Pipeline(state=place)


def test_another_version_of_the_format_is_refused(place, shop):
    shop.close()
    path = place / "manifests" / "000000000001"
    path.write_bytes(path.read_bytes().replace(b"deltic manifest 1 ", b"deltic manifest 2 "))
    with pytest.raises(StateError, match=r"version 2 of the format, and this Deltic reads version 1; open it with"):
        Pipeline(state=place)
    (place / "deltic-state").write_bytes(b"deltic state 9\n")
    with pytest.raises(StateError, match=r"deltic-state says 'deltic state 9'"):
        Pipeline(state=place)


# Who may open what


def test_a_second_writer_is_refused_and_readers_are_not(place, shop):
    with pytest.raises(StateError, match=rf"process {os.getpid()} on .* has it open for writing since 20"):
        Pipeline(state=place)
    with Pipeline(state=place, durability=Durability(readonly=True)) as reader:
        assert everything(reader) == everything(shop)
        with pytest.raises(DelticError, match="readonly"), reader.transaction():
            pass
        with pytest.raises(DelticError, match="readonly"):
            reader.sql("CREATE TABLE other (a INT)")
    sell(shop, ("c", 1))


def test_a_reader_tries_again_when_the_writer_removes_what_it_was_to_read(place, shop, monkeypatch):
    shop.checkpoint()
    saved, overtaken = StateDirectory.saved, []

    def overtake(state):
        if not overtaken:
            overtaken.append(state.manifest.number)
            sell(shop, ("c", 9))
            shop.compact()
        return saved(state)

    monkeypatch.setattr(StateDirectory, "saved", overtake)
    with Pipeline(state=place, durability=Durability(readonly=True)) as reader:
        assert everything(reader) == everything(shop)
    assert overtaken == [1]


def test_the_lock_goes_with_a_process_that_is_killed(place):
    script = f"""
import os, signal
from deltic.pipeline.session import Pipeline
pipeline = Pipeline(state={str(place)!r})
pipeline.table("t", {{"n": "int64"}})
with pipeline.transaction() as change:
    change.insert("t", [(1,)])
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script], check=False)
    with Pipeline(state=place) as pipeline:
        assert rows(pipeline, "t") == [(1,)]


def test_directories_of_something_else_are_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(StateError, match=r"directory of something else: it has letter.txt"):
        Pipeline(state=tmp_path)
    with pytest.raises(StateError, match="it is a file, and a state is a directory"):
        Pipeline(state=tmp_path / "letter.txt")
    with pytest.raises(StateError, match="there is no state yet"):
        Pipeline(state=tmp_path / "nothing", durability=Durability(readonly=True))
    assert [p.name for p in tmp_path.iterdir()] == ["letter.txt"]


def test_options_are_those_of_the_state(place, shop):
    shop.close()
    with pytest.raises(StateError, match="written with strategy='nested', and is opened with strategy='elastic'"):
        Pipeline(state=place, recursion=Recursion(strategy="elastic"))
    with pytest.raises(DelticError, match="the reference engine keeps none"):
        Pipeline(state=place, engine="reference")
    with pytest.raises(DelticError, match="name its directory with state="):
        Pipeline(durability=Durability(readonly=True))


def test_a_closed_pipeline_is_closed(shop):
    shop.close()
    shop.close()
    with pytest.raises(DelticError, match="closed"):
        sell(shop, ("a", 1))
    with pytest.raises(DelticError, match="keeps no state"):
        Pipeline().checkpoint()


# Another program


def test_a_program_takes_the_place_of_definitions(place, tmp_path):
    with Pipeline(state=place, program=DATALOG) as pipeline:
        assert pipeline.evolution.added == ("e", "p")
        with pipeline.transaction() as change:
            change.insert("e", [("a", "b"), ("b", "c")])
    with Pipeline(state=place, program=DATALOG) as pipeline:
        assert (pipeline.evolution.added, pipeline.evolution.replaced, pipeline.evolution.dropped) == ((), (), ())
        assert pipeline.epoch == 1
    other = tmp_path / "other.dl"
    other.write_text(DATALOG.replace("p(x, z) :- p(x, y), e(y, z).", "") + ".decl q(x: symbol)\nq(x) :- e(x, _).")
    with Pipeline(state=place, program=other) as pipeline:
        assert (pipeline.evolution.added, pipeline.evolution.replaced) == (("q",), ("p",))
        assert str(pipeline.evolution) == "added q; replaced p; kept e"
        assert rows(pipeline, "p") == [("a", "b"), ("b", "c")]
        assert rows(pipeline, "q") == [("a",), ("b",)]
        before = everything(pipeline)
    with Pipeline(state=place) as pipeline:
        assert everything(pipeline) == before
    with pytest.raises(CatalogError, match=r"table e holds rows, and the program does not declare it"):
        Pipeline(state=place, program="CREATE TABLE t (a INT)")
    with Pipeline(state=place) as pipeline:
        assert everything(pipeline) == before


def test_a_manifest_says_what_belongs_to_it(place, shop):
    shop.close()
    data = (place / "manifests" / "000000000001").read_bytes()
    found = json.loads(data.partition(b"\n")[2])
    assert (found["epoch"], found["token"], found["positions"]) == (2, "seventh", {"sales.csv": 70})
    assert {about["relation"] for _, about in found["pieces"]} >= {"sale", "total", "best"}
    assert Path(place / found["pieces"][0][0]["file"]).exists()


# Verify and repair


def test_a_state_that_is_whole_is_found_to_be(place, shop):
    shop.checkpoint()
    sell(shop, ("c", 9))
    found = verify(place, full=True)
    assert (found.wrong, found.records > 0, found.pieces > 5) == ([], True, True)
    assert found.views == ["total", "best"]
    assert len(verify(place, sample=1).views) == 1


@pytest.mark.parametrize("relation", ["total", "sale", "log", "manifest"])
def test_what_is_damaged_is_repaired_from_what_is_whole(place, shop, relation):
    shop.checkpoint()
    sell(shop, ("c", 9))
    shop.checkpoint()
    sell(shop, ("d", 4))
    abandon(shop)
    before = everything(shop)
    files = LocalFiles(place)
    newest = manifest.read(files, manifest.numbers(files)[0])
    if relation == "log":
        flip(place / segments(files)[-1][1], 30)
    elif relation == "manifest":
        flip(place / newest.name, 200)
    else:
        for where, about in newest.contents.pieces:
            if about["relation"] == relation:
                flip(place / where.file, where.offset + 20)
    wrong = verify(place).wrong
    assert wrong
    assert all("--repair" in each for each in wrong)
    found = repair(place)
    assert found.wrong == wrong
    assert found.repaired
    assert verify(place, full=True).wrong == []
    with Pipeline(state=place) as again:
        expected = before if relation != "log" else {**before, "sale": [r for r in before["sale"] if r != ("d", 4)]}
        assert rows(again, "sale") == expected["sale"]
        if relation != "log":
            assert everything(again) == before
        sell(again, ("e", 5))
    assert verify(place, full=True).wrong == []


def test_a_view_that_is_wrong_is_found_and_computed_anew(place, shop):
    shop._epochs.engine.executor.running.states["total"].contents.runs = ()
    shop.checkpoint()
    abandon(shop)
    (told,) = verify(place, full=True).wrong
    assert "view total has" in told
    assert "--repair" in told
    repair(place, full=True)
    assert verify(place, full=True).wrong == []
