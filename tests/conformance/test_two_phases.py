"""An epoch is prepared, then committed or aborted; an aborted one leaves no trace."""

from __future__ import annotations

import pytest

from deltic.engine.image import Saved
from deltic.errors import DelticError, UnsupportedError
from tests.conformance.engines import Driver
from tests.conformance.programs import FOLLOWS

AB, BC, CA = ("ada", "bob"), ("bob", "cy"), ("cy", "ada")


@pytest.fixture
def social(drive) -> Driver:
    driver: Driver = drive(FOLLOWS)
    driver.insert(follows=[AB, BC])
    return driver


def prepare(driver: Driver, token: str = "", **pairs):
    batches = {name: driver.batch(name, found) for name, found in pairs.items()}
    return driver.engine.prepare(batches, token=token)


def test_what_is_committed_has_a_number_and_a_token(social):
    assert (social.engine.epoch, social.engine.token) == (1, "")
    epoch = prepare(social, "offset 7", follows=[(CA, 1)])
    assert (epoch.number, epoch.token, epoch.is_open) == (2, "offset 7", True)
    assert (social.engine.epoch, social.engine.token) == (1, "")
    assert epoch.commit() is epoch.result
    assert (social.engine.epoch, social.engine.token) == (2, "offset 7")


def test_reads_show_what_is_prepared(social):
    with prepare(social, follows=[(BC, -1)]):
        assert social.rows("reaches") == {AB}
    assert social.rows("reaches") == {AB, BC, ("ada", "cy")}


@pytest.mark.parametrize("pairs", [[(CA, 1)], [(AB, -1)], [(("new", "text"), 1), (BC, -1)], []])
def test_an_aborted_epoch_leaves_no_trace(social, pairs):
    before = social.everything()
    prepare(social, "later", follows=pairs).abort()
    assert social.everything() == before
    assert (social.engine.epoch, social.engine.token) == (1, "")
    assert social.changes({"follows": [(CA, 1)]}) == {
        "reaches": dict.fromkeys([CA, ("bob", "ada"), ("cy", "bob"), *[(x, x) for x in ("ada", "bob", "cy")]], 1),
        "lonely": {("ada",): -1},
    }


def test_facts_come_in_the_first_epoch_that_is_committed(drive):
    driver = drive(".decl p(x: number)\np(1).")
    with driver.engine.prepare({}) as epoch:
        assert set(epoch.result.changes) == {"p"}
    assert driver.rows("p") == set()
    assert driver.changes({}) == {"p": {(1,): 1}}


def test_a_delayed_change_is_due_again_after_an_abort(drive):
    from deltic.circuit.reading import parse_circuit

    driver = drive(
        parse_circuit(
            "%0 = source t : set{x: int64}\n%1 = delay (%0) : set{x: int64}\n%2 = sink v (%1) : set{x: int64}"
        )
    )
    driver.apply({"t": [((1,), 1)]})
    with driver.engine.prepare({}):
        assert driver.rows("v") == {(1,)}
    assert driver.rows("v") == set()
    assert driver.changes({"t": [((2,), 1)]}) == {"v": {(1,): 1}}
    assert driver.changes({}) == {"v": {(2,): 1}}


def test_an_error_in_the_block_aborts(social):
    before = social.everything()
    with pytest.raises(ZeroDivisionError), prepare(social, follows=[(CA, 1)]):
        raise ZeroDivisionError
    assert social.everything() == before


def test_one_epoch_at_a_time(social):
    epoch = prepare(social, follows=[(CA, 1)])
    with pytest.raises(DelticError, match="epoch 2 is prepared: commit or abort it first"):
        social.insert(follows=[("x", "y")])
    epoch.commit()
    social.insert(follows=[("x", "y")])
    assert social.engine.epoch == 3


@pytest.mark.parametrize("first", ["commit", "abort"])
@pytest.mark.parametrize("second", ["commit", "abort"])
def test_an_epoch_ends_once(social, first, second):
    epoch = prepare(social, follows=[(CA, 1)])
    getattr(epoch, first)()
    with pytest.raises(DelticError, match="epoch 2 was committed or aborted already"):
        getattr(epoch, second)()


def test_a_refused_epoch_is_not_prepared(social):
    with pytest.raises(DelticError):
        prepare(social, follows=[(AB, 1)])
    social.insert(follows=[CA])


def test_the_state_is_written_down_between_epochs():
    driver = Driver.of_program("local", FOLLOWS)
    with prepare(driver, follows=[(AB, 1)]), pytest.raises(DelticError, match="epoch 1 is prepared"):
        driver.engine.capture()


def test_an_engine_whose_state_cannot_be_written_says_so():
    engine = Driver.of_program("reference", FOLLOWS).engine
    with pytest.raises(UnsupportedError, match="lasts as long as the process"):
        engine.capture()
    with pytest.raises(UnsupportedError, match="load the tables instead"):
        engine.restore(Saved({}))
