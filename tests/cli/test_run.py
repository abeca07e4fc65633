"""`deltic run`: what it writes, what it prints, how it ends. Catches epochs that are not whole and wrong statuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import PROGRAM, command, without_measurements

ENGINES = ["auto", "reference", pytest.param("spark", marks=pytest.mark.spark)]


@pytest.fixture
def own_session(request, monkeypatch):
    """Spark's session of the tests in place of the one that the command would start and stop."""
    from contextlib import nullcontext

    if request.node.callspec.params["engine"] == "spark":
        session = request.getfixturevalue("spark")
        monkeypatch.setattr("deltic.pipeline.spark.session.spark_session", lambda *_: nullcontext(session))


@pytest.mark.parametrize("engine", ENGINES)
def test_views_and_their_changes_are_written(workshop, engine, own_session):
    result = workshop.run("--changes", "changes", "--json", engine=engine)
    assert (result.status, result.err) == (0, "")
    assert workshop.read("out/reaches.csv") == sorted(f"{x}\t{y}" for x in PEOPLE for y in PEOPLE)
    assert workshop.read("out/changes/2.follows.tsv/reaches.tsv") == ["-\tada\tbob", "-\tada\teve"]
    assert workshop.read("out/changes/10/reaches.tsv") == sorted(
        f"+\t{x}\t{y}" for x in PEOPLE for y in PEOPLE if (x, y) != ("bob", "eve")
    )
    document = result.document
    assert document["ok"] is True
    assert [(e["name"], e["rows_in"], e["changed"]) for e in document["epochs"]] == [
        ("initial", 4, {"reaches": changed(3, 0), "adult": changed(1, 0)}),
        ("2.follows.tsv", 1, {"reaches": changed(0, 2)}),
        ("10", 3, {"reaches": changed(8, 0), "adult": changed(1, 0)}),
    ]
    assert document["views"] == {"reaches": {"rows": 9, "path": "out/reaches.csv"}}
    assert document["sizes"] == {"adult": 2}


PEOPLE = ("ada", "bob", "eve")


def changed(inserted, deleted):
    return {"inserted": inserted, "deleted": deleted}


def test_the_changes_that_are_written_can_be_read(workshop):
    """The view of one program is a table of the next; its changes are that one's changes."""
    assert workshop.run("--changes", "changes").status == 0
    workshop.write(
        "next.dl", ".decl reaches(x: symbol, y: symbol)\n.decl n(x: symbol)\n.output n\nn(x) :- reaches(x, _)."
    )
    workshop.write("empty/reaches.facts", "bob\teve\nada\tbob\nada\teve\n")
    result = command(
        "run", "next.dl", "--facts", "empty", "--changes", "out/changes", "--out", "on", "--engine", "local"
    )
    assert result.status == 0
    assert workshop.read("on/n.csv") == ["ada", "bob", "eve"]


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_formats(workshop, form):
    assert workshop.run("--changes", "changes", "--format", form).status == 0
    assert (workshop.folder / f"out/reaches.{form}").exists()
    assert (workshop.folder / f"out/changes/10/reaches.{'tsv' if form == 'csv' else form}").exists()


def test_for_people(workshop, golden):
    golden("data/run.txt", "\n".join(without_measurements(workshop.run("--changes", "changes").out)))


def test_all_inputs_of_a_table_are_read(workshop):
    """Each with its own options; so are changes in files of their names."""
    program = '.decl p(x: number, y: number)\n.input p\n.input p(filename="more.csv", delimiter=",")\n.output p\n'
    workshop.write("reach.dl", program + '.input p(filename="more.csv", delimiter=",")')
    workshop.write("facts/p.facts", "1\t1\n2\t2\n")
    workshop.write("facts/more.csv", "2,2\n3,3\n")
    workshop.write("changes/1/p.facts", "+4\t4\n")
    workshop.write("changes/1/more.csv", "-,2,2\n")
    workshop.write("changes/2.p.csv", "+,5,5\n")
    for name in ("2.follows.tsv", "10/follows.csv", "10/age.json"):
        (workshop.folder / "changes" / name).unlink()
    (workshop.folder / "changes/10").rmdir()
    assert workshop.run("--changes", "changes").err == ""
    assert workshop.read("out/p.csv") == ["1\t1", "3\t3", "4\t4", "5\t5"]


def test_what_a_program_prints_as_with_souffle(workshop):
    workshop.write("print.dl", ".decl p(x: number, s: symbol)\n.input p\n.output p\n.printsize p")
    workshop.write("facts/p.facts", "1\tone\n")
    size, rule = "p\t1\n", "===============\n"
    printed = f"---------------\np\nx\ts\n{rule}1\tone\n{rule}{size}"
    program, folder = str(workshop.folder / "print.dl"), str(workshop.folder / "facts")
    assert command("run", program, "-F", folder, "-D", str(workshop.folder / "here"), "-q").out == size
    assert workshop.read("here/p.csv") == ["1\tone"]
    assert command("run", program, "-F", folder, "-D", "-", "-q").out == printed
    with_report = command("run", program, "-F", folder, "-D", "-")
    assert with_report.out == printed
    assert "rows visited" in with_report.err
    assert command("run", program, "-F", folder, "-D", "-", "--changes", folder).status == 2


def test_every_one_of_several_inputs_must_be_there(workshop):
    workshop.write("reach.dl", '.decl p(x: number)\n.input p(filename="one.csv")\n.input p(filename="two.csv")')
    workshop.write("facts/two.csv", "1\n")
    assert "table p: no file facts/one.csv" in workshop.run().err


def test_a_fact_that_stands_twice_is_one_and_a_change_that_does_is_refused(workshop):
    workshop.write("changes/3.age.csv", "+kim,50\n+kim,50\n")
    result = workshop.run("--changes", "changes")
    assert result.status == 1
    assert "kim" in result.err
    for policy in ("normalize", "trust"):
        assert workshop.run("--changes", "changes", "--conflicts", policy).status == 0


def test_macros_and_components(workshop):
    """A program of several files with instances; what -M defines is known to them all."""
    workshop.write("reach.dl", '#include "lib.dl"\n.init near = Steps\n.input near.edge\n.output near.walk')
    workshop.write(
        "lib.dl",
        ".comp Steps { .decl edge, walk(x: number, y: number) walk(x, y) :- edge(x, y)."
        " walk(x, z) :- walk(x, y), edge(y, z), z - x < NEAR. }",
    )
    workshop.write("facts/near.edge.facts", "1\t2\n2\t3\n3\t9\n")
    assert "near.walk" in workshop.run("-M", "NEAR=5").out
    assert workshop.read("out/near.walk.csv") == ["1\t2", "1\t3", "2\t3", "3\t9"]
    assert "`NEAR` has no value" in workshop.run().err
    (workshop.folder / "lib").mkdir()
    (workshop.folder / "lib.dl").rename(workshop.folder / "lib" / "lib.dl")
    assert "the file lib.dl cannot be read" in workshop.run("-M", "NEAR=9").err
    assert workshop.run("-I", "lib", "-M", "FAR NEAR=9", "-P", "word-size:32").status == 0
    assert len(workshop.read("out/near.walk.csv")) == 6


def test_the_row_of_a_relation_without_columns_may_be_an_empty_line(workshop):
    """As in Soufflé, where any line of such a file is its row."""
    workshop.write("reach.dl", ".decl on()\n.input on\n.decl off()\n.input off\n.decl both()\n.input both\n"
                               ".printsize on, off, both")  # fmt: skip
    for name, text in (("on", "\n"), ("off", ""), ("both", "()\n\n")):
        workshop.write(f"facts/{name}.facts", text)
    assert workshop.run("--json").document["sizes"] == {"on": 1, "off": 0, "both": 1}


def test_quiet(workshop):
    result = workshop.run("--quiet")
    assert (result.status, result.out, result.err) == (0, "adult\t1\n", "")


def test_many_views_share_a_column(workshop):
    views = "\n".join(f".decl v{i}(x: symbol)\n.output v{i}\nv{i}(x) :- follows(x, _)." for i in range(9))
    workshop.write("reach.dl", f".decl follows(x: symbol, y: symbol)\n{views}")
    lines = [line.split() for line in workshop.run().out.splitlines()]
    assert lines[1] == ["epoch", "rows", "in", "changed", "time", "rows", "visited"]
    assert lines[3][:4] == ["initial", "2", "v0", "+2"]
    assert lines[4:12] == [[f"v{i}", "+2"] for i in range(1, 9)]


def test_without_outputs_every_view_is_written(workshop):
    workshop.write("reach.dl", ".decl follows(x: symbol, y: symbol)\n.decl n(x: symbol)\nn(x) :- follows(x, _).")
    assert workshop.run().status == 0
    assert workshop.read("out/n.csv") == ["ada", "bob"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rejected_epoch_stops_the_run_before_it(workshop, engine, own_session, golden):
    """The epoch's other file is fine, and none of it is applied."""
    workshop.write("changes/10/age.json", '{"op": "+", "who": "eve", "years": "forty"}\n')
    workshop.write("changes/11.age.csv", "+kim,50\n")
    result = workshop.run("--changes", "changes", engine=engine)
    assert result.status == 1
    golden("data/rejected-epoch.txt", result.err)
    assert workshop.read("out/reaches.csv") == ["bob\teve"]
    assert "adult\t1\n" in result.out
    assert not (workshop.folder / "out/changes/10").exists()


def test_a_conflict_rejects_the_epoch(workshop, golden):
    workshop.write("changes/3.age.csv", "-bob,13\n+kim,50\n")
    result = workshop.run("--changes", "changes")
    assert result.status == 1
    golden("data/conflict.txt", result.err)
    assert "adult\t1\n" in result.out
    result = workshop.run("--changes", "changes", "--conflicts", "normalize")
    assert result.status == 0
    assert "adult\t3\n" in result.out


def test_skipping_malformed_rows(workshop, golden):
    workshop.write("facts/age.csv", "ada,36\nbob,twelve\n")
    workshop.write("changes/10/follows.csv", "+eve,ada\n*ada,bob\n")
    result = workshop.run("--changes", "changes", "--on-error", "skip", "--json")
    assert result.status == 0
    assert [epoch["rejected_rows"] for epoch in result.document["epochs"]] == [1, 0, 1]
    assert (
        workshop.read("out/rejects/age.csv")[0]
        == 'facts/age.csv,2,5,"expected a number, found \'twelve\'","bob,twelve"'
    )
    assert workshop.read("out/rejects/follows.csv")[0].startswith("changes/10/follows.csv,2,1,")
    assert result.err == "note: 2 malformed rows left out; they are listed in out/rejects\n"
    workshop.write("facts/age.csv", "ada,36\n")
    workshop.write("changes/10/follows.csv", "+eve,ada\n")
    assert workshop.run("--changes", "changes", "--on-error", "skip").status == 0
    assert not (workshop.folder / "out/rejects/age.csv").exists()


def test_a_limit_of_skipped_rows_ends_the_run(workshop):
    workshop.write("facts/age.csv", "ada,36\nbob,twelve\n")
    workshop.write("changes/11.age.csv", "+eve,x\n+kim,50\n")
    options = ("--changes", "changes", "--on-error", "skip", "--reject-limit")
    result = workshop.run(*options, "1")
    assert result.status == 1
    assert "2 malformed rows, more than 1; they are listed in out/rejects/age.csv\n" in result.err
    assert "epoch 11.age.csv was rejected whole" in result.err
    assert "--reject-limit" in result.err
    assert len(workshop.read("out/rejects/age.csv")) == 3, "a head and two rows"
    assert workshop.run(*options, "2").status == 0
    assert workshop.run(*options, "0").err.startswith("error: 1 malformed row, more than 0;")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"reach.dl": ".decl p(x: number)\np(x) :- q(x)."}, "reach.dl:2:9: there is no relation `q`"),
        ({"facts/age.csv": "ada\n"}, "facts/age.csv:1:4: expected 2 fields, found 1"),
        ({"changes/4.agee.csv": ""}, "changes/4.agee.csv: no table matches these changes"),
        ({"reach.dl": '.decl p(x: number)\n.input p(IO="sqlite", dbname="x")'}, "table p: no file facts/x\n"),
        ({"reach.dl": '.decl p(x: number)\n.input p(columns="1:2")'}, "it has 1 column: name one field"),
        (
            {"reach.dl": '.decl p(x: number)\n.input p(rfc4180="true", delimiter="::")'},
            "the delimiter is one character",
        ),
        ({"reach.dl": ".decl p(x: number)\n.input p"}, "table p: no file facts/p.facts (or .csv, "),
    ],
)
def test_errors_before_the_first_epoch_write_nothing(workshop, files, words):
    for name, text in files.items():
        workshop.write(name, text)
    result = workshop.run("--changes", "changes")
    assert (result.status, result.out) == (1, "")
    assert words in result.err
    assert not (workshop.folder / "out").exists()


def test_an_error_as_json(workshop):
    workshop.write("changes/10/age.json", "[]\n")
    result = workshop.run("--changes", "changes", "--json")
    assert result.status == 1
    error = result.document["error"]
    assert (result.document["ok"], error["kind"], error["epoch"]) == (False, "DataError", "10")
    assert error["findings"] == [
        {
            "file": "changes/10/age.json",
            "line": 1,
            "column": 1,
            "message": "expected a JSON object, with the names of the columns as its keys",
            "hint": "",
            "text": "[]",
        }
    ]
    assert [epoch["name"] for epoch in result.document["epochs"]] == ["initial", "2.follows.tsv"]
    assert result.err.startswith("error: epoch 10 was rejected whole; the views are as after epoch 2.follows.tsv\n")


def test_a_program_that_is_not_text(workshop):
    (workshop.folder / "reach.dl").write_bytes(b"// caf\xe9")
    assert workshop.run().err == "error: reach.dl: the program is not UTF-8 text\n"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_output_that_cannot_be_written(workshop, engine, own_session):
    workshop.write("place/changes", "a file where the folder of changes should be")
    result = workshop.run("--changes", "changes", "--out", "place", engine=engine)
    assert (result.status, result.err.count("\n")) == (1, 1)
    assert "place/changes" in result.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk on this system")
@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_a_full_disk_is_told_with_the_file(workshop, form):
    (workshop.folder / "out").mkdir()
    (workshop.folder / f"out/.reaches.{form}.unfinished").symlink_to("/dev/full")
    result = workshop.run("--format", form)
    assert (result.status, result.err) == (1, f"error: out/reaches.{form}: No space left on device\n")


def test_inputs_are_not_overwritten(workshop):
    workshop.write("reach.dl", ".decl age(x: symbol, n: number)\n.input age\n.output age")
    result = command("run", "reach.dl", "--facts", "facts", "--out", "facts", "--engine", "local")
    assert result.status == 1
    assert result.err == "error: age would be written over facts/age.csv, which is read; choose another --out\n"


def test_symbols_that_text_cannot_hold_are_noted(workshop):
    workshop.write("reach.dl", '.decl p(x: symbol)\np("a\\tb").')
    assert "out/p.csv cannot be read back: 1 row with the delimiter or a line end" in workshop.run().err


@pytest.mark.parametrize(
    ("arguments", "strategy"),
    [([], "nested"), (["--strategy", "full"], "full"), (["--strategy", "reaches=elastic"], "elastic")],
)
def test_strategies(workshop, arguments, strategy):
    result = workshop.run("--changes", "changes", "--json", *arguments, engine="local")
    assert {r["strategy"] for epoch in result.document["epochs"] for r in epoch["recursions"]} == {strategy}


def test_a_strategy_of_no_recursive_view(workshop):
    result = workshop.run("--strategy", "adult=elastic", engine="local")
    assert result.status == 1
    assert "adult is not a recursive view: it does not depend on itself" in result.err
    assert not (workshop.folder / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["run"],
        ["run", "missing.dl"],
        ["run", "reach.dl", "--facts", "nowhere"],
        ["run", "reach.dl", "--engine", "quick"],
        ["run", "reach.dl", "--no-such-option"],
        ["run", "reach.dl", "--engine", "local", "--master", "local[2]"],
        ["run", "reach.dl", "--driver-memory", "lots", "--master", "local[2]"],
        ["run", "reach.dl", "--driver-memory", "1g"],
        ["run", "reach.dl", "--conf", "spark.executor.memory=1g"],
        ["run", "reach.dl", "--master", "local[2]", "--conf", "spark.executor.memory"],
        ["run", "reach.dl", "--strategy", "lazy"],
        ["run", "reach.dl", "--define", "1st=2"],
        ["run", "reach.dl", "--strategy", "reaches=lazy"],
        ["run", "reach.dl", "--strategy", "elastic", "--strategy", "full"],
        ["run", "reach.dl", "--strategy", "reaches=elastic", "--strategy", "reaches=full"],
        ["run", "reach.dl", "--strategy", "elastic", "--strategy", "reaches=full"],
        ["run", "reach.dl", "--changes", "changes", "--out", "."],
        ["explain"],
        ["no-such-command"],
    ],
)
def test_wrong_usage_is_status_2(workshop, arguments):
    assert command(*arguments).status == 2
    assert not (workshop.folder / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "reach.dl", "--json", "--no-such-option"], "No such option: --no-such-option"),
        (["run", "--json", "missing.dl"], "'missing.dl' does not exist"),
        (["run", "reach.dl", "--json", "--driver-memory", "1g"], "--driver-memory needs Spark"),
        (["demo", "--json", "--commits", "0"], "Invalid value for '--commits'"),
    ],
)
def test_wrong_usage_as_json(workshop, arguments, words):
    result = command(*arguments)
    assert result.status == 2
    assert result.document["ok"] is False
    assert result.document["error"]["kind"] == "UsageError"
    assert words in result.document["error"]["message"]


def test_recursions_take_rounds_where_that_is_asked_for(workshop):
    workshop.write("twice.dl", PROGRAM.replace("follows(y, z)", "reaches(y, z)"))
    given = ["run", "twice.dl", "--facts", "facts", "--out", "out", "--json", "--engine", "spark", "--shards", "2"]
    for option, reason, way in (
        (("--rounds", "always"), "in 2 rounds over 2 shards", ""),
        (("--rounds", "never"), "it was empty", ""),
        (("--task-memory", "1"), "in 2 rounds over 2 shards", "which is to hold 1, and no job for an iteration"),
        (("--task-memory", "1 GiB"), "it was empty", "of the 1,073,741,824 bytes that a task is to hold"),
    ):
        result = command(*given, *option)
        assert result.status == 0, result.err
        (recursion,) = result.document["epochs"][0]["recursions"]
        assert recursion["reason"] == reason
        assert way in recursion["way"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("spark", "--executor", "job"), 'executor="job" needs a Spark session: Pipeline(spark, …) or --master'),
        (("local", "--directory", "rows"), "shards need engine \"spark\", and engine is 'local'"),
    ],
)
def test_jobs_and_directories_are_those_of_shards_with_spark(workshop, options, told):
    result = command("run", "reach.dl", "--facts", "facts", "--out", "out", "--engine", *options)
    assert (result.status, result.err) == (1, f"error: {told}\n")


def test_sql_over_files_as_spreadsheets_write_them(workshop):
    workshop.write("sold.sql", "CREATE TABLE sale (id INT, who STRING); CREATE VIEW buyers AS SELECT who FROM sale;")
    workshop.write("facts/sale.csv", 'who,price,ID\n"Smith, Ada",2.50,1\n')
    workshop.write("sales/1.sale.csv", 'op,id,who\n+,2,bob\n-,1,"Smith, Ada"\n')
    files = ["sold.sql", "--facts", "facts"]
    result = command("run", *files, "--changes", "sales", "--headers", "--rfc4180")
    assert (result.status, workshop.read("out/buyers.csv")) == (0, ["bob"])
    assert "buyers: 1 row in out/buyers.csv" in result.out
    refused = command("run", *files)
    assert refused.status == 1
    assert "hint: this looks like a header: headers=true in its .input, --headers" in refused.err
    assert command("explain", *files, "--headers", "--rfc4180").status == 0


@pytest.mark.parametrize(
    ("directive", "outside"),
    [
        ('.input p(filename="{there}/p.facts")', "`{there}/p.facts` stands outside of --facts"),
        ('.input p(filename="../there/p.facts")', "`../there/p.facts` stands outside of --facts"),
        ('.input p(name="../there/p")', "`../there/p` stands outside of --facts"),
        ('.input p(IO=sqlite, dbname="../there/p.db")', "`../there/p.db` stands outside of --facts"),
        ('.input p(filename="linked/../../there/p.facts")', "stands outside of --facts"),
        ('.output p(filename="../there/p.csv")', "`../there/p.csv` stands outside of --out"),
        ('.output p(IO=jsonfile, filename="{there}/p.json")', "`{there}/p.json` stands outside of --out"),
    ],
)
def test_files_outside_of_the_folders_are_refused_unless_they_may_be_named(workshop, directive, outside):
    """Catches a program that reads, or writes over, any file of its user."""
    there = workshop.folder / "there"
    workshop.write("there/p.facts", "7\n")
    (workshop.folder / "facts/linked").symlink_to(there)
    text = ".decl p(x: number)\n.decl q(x: number)\nq(x) :- p(x).\n" + directive.format(there=there)
    workshop.write("outside.dl", text)
    folders = "-F", str(workshop.folder / "facts"), "-D", str(workshop.folder / "out"), "--missing-facts", "empty"
    before = sorted(path.name for path in there.iterdir())
    result = command("run", str(workshop.folder / "outside.dl"), *folders)
    assert result.status == 1
    assert outside.format(there=there) in result.err
    assert "outside.dl:4:" in result.err
    assert "--allow-outside lets a program that you trust" in result.err
    assert sorted(path.name for path in there.iterdir()) == before
    assert command("run", str(workshop.folder / "outside.dl"), *folders, "--allow-outside").status == 0


def test_names_within_the_folders_may_be_long(workshop):
    """An absolute name, one with `..` that stays inside, and a link that the owner of the folder made."""
    workshop.write("there/p.facts", "7\n")
    workshop.write("facts/p.facts", "8\n")
    (workshop.folder / "facts/linked").symlink_to(workshop.folder / "there")
    names = f"{workshop.folder}/facts/p.facts", "../facts/p.facts", "linked/p.facts"
    inputs = "".join(f'.input p(filename="{name}")\n' for name in names)
    workshop.write("inside.dl", f".decl p(x: number)\n{inputs}.output p")
    folders = "-F", str(workshop.folder / "facts"), "-D", str(workshop.folder / "out")
    assert command("run", str(workshop.folder / "inside.dl"), *folders).status == 0
    assert workshop.read("out/p.csv") == ["7", "8"]
