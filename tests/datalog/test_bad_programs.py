"""Bad programs and the messages that their writers read. Catches: lost, misplaced, cascading or unhelpful findings.

Each `bad/NAME.dl` is parsed and checked; what it says is `tests/golden/datalog/NAME.txt`.
"""

from pathlib import Path

import pytest

from deltic.datalog import check, parse
from deltic.errors import ProgramError

BAD = sorted((Path(__file__).parent / "bad").glob("*.dl"))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_messages(path, golden):
    with pytest.raises(ProgramError) as caught:
        check([parse(path.read_text(encoding="utf-8"), path.name)])
    golden(f"datalog/{path.stem}.txt", str(caught.value))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_findings_have_places_in_order_and_are_told_once(path):
    with pytest.raises(ProgramError) as caught:
        check([parse(path.read_text(encoding="utf-8"), path.name)])
    findings = caught.value.diagnostics
    places = [(finding.line, finding.column) for finding in findings]
    assert places == sorted(places)
    assert len(set(findings)) == len(findings)
    assert all(finding.file == path.name and finding.source for finding in findings)
    assert all(finding.column + finding.length - 1 <= len(finding.source) + 1 for finding in findings)


def test_there_are_enough_kinds():
    assert len(BAD) >= 24
