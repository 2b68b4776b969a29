"""The variables that have certainly matched whenever another one's condition is tested."""

import pytest

from rewrites.dialect.row_pattern import parse_row_pattern
from sparkcep.pattern.row import matched_before

WANTED = {
    "a b c": "a: b:a c:ab",
    "a* b": "a: b:",
    "a+ b{0,2} c": "a: b:a c:a",
    "(a | b) c": "a: b: c:",
    "(a b | a d) c": "a: b:a d:a c:a",
    "a (b c)* d": "a: b:a c:ab d:a",
    "(a b)+ c": "a: b:a c:ab",
    "a b a": "a: b:a",
    "PERMUTE(a, b) c": "a: b: c:ab",
    "{- a -} b": "a: b:a",
    "^ a () b $": "a: b:a",
    "(a | b)? c (a b) d": "a: b: c: d:abc",
}


@pytest.mark.parametrize("pattern", WANTED)
def test_matched_before(pattern: str) -> None:
    found = matched_before(parse_row_pattern(pattern))
    assert {name: "".join(sorted(names)) for name, names in found.items()} == {
        part[0]: part[2:] for part in WANTED[pattern].split()
    }
