"""What the report's tables say of evaluations that are made up here."""

from types import SimpleNamespace

import pytest

from climbable.report import tables


def run(samples=64, **shares):
    """A run in which `shares` holds, for each policy, the share solved of some sub-kinds."""
    return SimpleNamespace(
        evaluations={
            policy: {
                "subkinds": {
                    kind: {"tasks": 8, "samples": samples, "pass_at_1": {"estimate": share}}
                    for kind, share in kinds.items()
                }
            }
            for policy, kinds in shares.items()
        }
    )


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [(0.4, 0.0, True), (0.4, 0.2, True), (0.4, 0.21, False), (0.0, 0.0, False), (0.1, 0.9, False)],
)
def test_a_sub_kind_that_lost_half_of_what_it_had_is_named(before, after, lost):
    (kind,) = tables.kinds(run(base={"f/x": 0.0}, warmup={"f/x": before}, trained={"f/x": after}))
    assert (kind.name, kind.lost, len(kind.cells)) == ("f/x", lost, 3)


def test_a_few_samples_call_nothing_lost():
    assert not tables.kinds(run(23, warmup={"f/x": 0.5}, trained={"f/x": 0.0}))[0].lost
    assert tables.kinds(run(24, warmup={"f/x": 0.5}, trained={"f/x": 0.0}))[0].lost


def test_families_without_sub_kinds_have_no_such_table():
    assert tables.kinds(run(base={"one": 0.5, "two": 0.1})) == []
