"""Which version holds when: against a plain calendar in which each statement writes its body over all times from its effect on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rewrites.patterns import Version, in_effect, newest
from rewrites.patterns.versions import DROP, planned

MOMENTS = 8
statements = st.lists(
    st.tuples(st.sampled_from(["replace", "alter", DROP]), st.none() | st.integers(0, MOMENTS - 1)), max_size=7
)


def versions(found: list[tuple[str, int | None]]) -> list[Version]:
    return [
        Version("p", number, change, "MATCH PATTERN", f"body {number}", effective=effective)
        for number, (change, effective) in enumerate(found, start=1)
    ]


def calendar(found: list[tuple[str, int | None]]) -> list[str | None]:
    days: list[str | None] = [None] * MOMENTS
    for number, (change, effective) in enumerate(found, start=1):
        for day in range(effective or 0, MOMENTS):
            days[day] = None if change == DROP else f"body {number}"
    return days


@given(statements, st.randoms())
def test_the_version_of_a_moment(found: list[tuple[str, int | None]], random: object) -> None:
    known = versions(found)
    random.shuffle(known)  # type: ignore[attr-defined]
    days = calendar(found)
    seen = [in_effect(known, day) for day in range(MOMENTS)]
    assert [version and version.body for version in seen] == days


@given(statements, st.integers(0, MOMENTS - 1))
def test_planned_versions_are_the_changes_to_come(found: list[tuple[str, int | None]], today: int) -> None:
    days = calendar(found)
    changes = [days[day] for day in range(today + 1, MOMENTS) if days[day] != days[day - 1] and days[day] is not None]
    assert [version.body for version in planned(versions(found), today)] == changes


def test_two_statements_that_saw_the_same() -> None:
    """All readers take the same one, in whatever order the rows come."""
    one = Version("p", 1, "create", "MATCH PATTERN", "A a", recorded=5)
    other = Version("p", 1, "create", "MATCH PATTERN", "B b", recorded=6)
    assert newest([one, other]) == newest([other, one]) == other
