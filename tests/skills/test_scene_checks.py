"""The checks of `scene` at their edges, on measurements written by hand."""

import json
import math

import pytest

from climbable.blender.measurement import read_measurement
from climbable.core.types import Task
from climbable.skills.scene.checks import judge, shape_of

RED = {"name": "RedBox", "shape": "cube", "size": 0.8, "center": [1.2, -0.4, 0.4], "grounded": True}
BLUE = {"name": "BlueBox", "shape": "cube", "size": 0.5, "center": [1.2, -0.4, 1.05], "grounded": False}
BALL = {"name": "Ball", "shape": "sphere", "size": 0.6, "center": [-1.0, 2.0, 0.3], "grounded": True}
RED_CHECKS = ["RedBox.name", "RedBox.size", "RedBox.grounded", "RedBox.position"]
BLUE_CHECKS = ["BlueBox.name", "BlueBox.size", "BlueBox.position"]
SIDES = [(axis, sign) for axis in range(3) for sign in (-1, 1)]
INSIDE, OUTSIDE = 0.03, 0.0301


def make_task(*objects):
    spec = {"objects": list(objects)}
    return Task(id="t", skill="scene", family="stack", split="test", index=0, prompt="p", spec=spec)


def made(spec, *, low=(0.0, 0.0, 0.0), high=(0.0, 0.0, 0.0), shape=None, **change):
    """What `spec` asks for, as it is measured, with its lower and upper corner moved by `low` and `high`."""
    half = spec["size"] / 2
    least = [c - half + d for c, d in zip(spec["center"], low, strict=True)]
    most = [c + half + d for c, d in zip(spec["center"], high, strict=True)]
    x, y, z = (b - a for a, b in zip(least, most, strict=True))
    box, surface = x * y * z, 2 * (x * y + y * z + z * x)
    if (shape or spec["shape"]) == "cube":
        numbers = {"hull_volume": box, "hull_area": surface, "area": surface, "nearest": math.dist(least, most) / 2}
    else:
        numbers = {"hull_volume": 0.51 * box, "hull_area": surface / 2, "area": surface / 2, "nearest": half}
    counts = {"name": spec["name"], "type": "MESH", "finite": True, "vertices": 8, "polygons": 6}
    return counts | {"min": least, "max": most, "right": (least[1] + most[1]) / 2} | numbers | change


def not_finite(spec):
    nothing = dict.fromkeys(("min", "max", "hull_volume", "hull_area", "area", "nearest", "right"))
    return made(spec) | nothing | {"finite": False}


def along(axis, value):
    return tuple(value if i == axis else 0.0 for i in range(3))


def verdict(objects, *things, extra=()):
    """The judgement of a measurement that has passed through JSON and the check of its form, as in a run."""
    measurement = {"objects": list(things), "extra": list(extra), "blender": "4.5.0"}
    return judge(make_task(*objects), read_measurement(json.loads(json.dumps(measurement))))


def failing(judgement):
    return [check.name for check in judgement.checks if not check.passed]


def reward(judgement):
    return round(sum(judgement.parts.values()), 4)


def test_what_was_asked_for_earns_everything_and_in_this_order():
    judgement = verdict([RED, BLUE], made(BLUE), made(RED))
    assert [check.name for check in judgement.checks] == RED_CHECKS + BLUE_CHECKS
    assert (failing(judgement), judgement.solved, reward(judgement)) == ([], True, 1.0)


def test_a_check_tells_what_was_asked_and_measured():
    judgement = verdict([RED], made(RED, low=(0, 0, 0.1), high=(0, 0, 0.1)))
    told = {check.name.removeprefix("RedBox."): check.to_json() for check in judgement.checks}
    assert (told["name"]["expected"], told["name"]["measured"], told["name"]["unit"]) == ("cube", "cube", None)
    assert (told["size"]["expected"], told["size"]["measured"]) == ([0.8] * 3, [0.8] * 3)
    assert (told["grounded"]["expected"], told["grounded"]["measured"]) == (0.0, 0.1)
    assert told["position"] == {
        "name": "RedBox.position",
        "passed": False,
        "expected": [1.2, -0.4, 0.4],
        "measured": [1.2, -0.4, 0.5],
        "tolerance": 0.03,
        "unit": "m",
    }


@pytest.mark.parametrize(("axis", "sign"), SIDES)
def test_three_centimetres_aside_are_in_place(axis, sign):
    for off in (INSIDE, INSIDE + 9e-6):
        move = along(axis, sign * off)
        assert verdict([RED, BLUE], made(RED), made(BLUE, low=move, high=move)).solved


@pytest.mark.parametrize(("axis", "sign"), SIDES)
def test_a_tenth_of_a_millimetre_more_is_out_of_place(axis, sign):
    move = along(axis, sign * OUTSIDE)
    judgement = verdict([RED, BLUE], made(RED), made(BLUE, low=move, high=move))
    assert (failing(judgement), judgement.solved, reward(judgement)) == (["BlueBox.position"], False, 0.5286)


@pytest.mark.parametrize("shift", [(0.03, 0.03, 0.03), (-0.03, 0.03, -0.03)])
def test_each_axis_has_the_whole_tolerance(shift):
    assert verdict([BLUE], made(BLUE, low=shift, high=shift)).solved


@pytest.mark.parametrize(("axis", "sign"), SIDES)
def test_three_centimetres_larger_or_smaller_are_the_size(axis, sign):
    half = sign * INSIDE / 2
    assert verdict([RED, BLUE], made(RED, low=along(axis, -half), high=along(axis, half)), made(BLUE)).solved


@pytest.mark.parametrize(("axis", "sign"), SIDES)
def test_a_tenth_of_a_millimetre_more_is_another_size(axis, sign):
    half = sign * OUTSIDE / 2
    judgement = verdict([RED, BLUE], made(RED, low=along(axis, -half), high=along(axis, half)), made(BLUE))
    assert failing(judgement) == ["RedBox.size"]


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_lowest_point_may_be_three_centimetres_off_the_ground(sign):
    move = along(2, sign * INSIDE)
    assert verdict([RED], made(RED, low=move, high=move)).solved


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_tenth_of_a_millimetre_more_is_off_the_ground(sign):
    judgement = verdict([RED], made(RED, low=along(2, sign * OUTSIDE), high=along(2, sign * 0.01)))
    assert failing(judgement) == ["RedBox.grounded"]


def test_only_what_is_grounded_has_to_touch_the_ground():
    assert not any("grounded" in check.name for check in verdict([BLUE], made(BLUE)).checks)


def test_a_missing_object_fails_each_of_its_checks():
    judgement = verdict([RED, BLUE], made(BLUE))
    assert failing(judgement) == RED_CHECKS
    assert all(check.measured is None for check in judgement.checks if not check.passed)
    assert reward(judgement) == 0.3143


@pytest.mark.parametrize("name", ["redbox", "RedBox.001", "RedBox ", "Red Box"])
def test_a_name_is_exact(name):
    judgement = verdict([RED], made(RED, name=name))
    assert (failing(judgement), judgement.solved) == (RED_CHECKS, False)


@pytest.mark.parametrize("things", [[], [made(RED, name="Cube")]], ids=["empty", "another"])
def test_none_of_the_asked_objects_earns_a_tenth(things):
    judgement = verdict([RED, BLUE], *things)
    assert judgement.parts == {"ran": 0.1, "checks": 0.0, "bonus": 0.0}


def test_an_object_that_is_not_finite_fails_each_of_its_checks():
    judgement = verdict([RED, BLUE], not_finite(RED), made(BLUE))
    assert (failing(judgement), judgement.solved, reward(judgement)) == (RED_CHECKS, False, 0.3143)
    told = {check.name: check.to_json()["measured"] for check in judgement.checks}
    assert [told[f"RedBox.{part}"] for part in ("size", "grounded", "position")] == [None] * 3
    json.dumps([check.to_json() for check in judgement.checks], allow_nan=False)


@pytest.mark.parametrize(
    ("things", "extra"),
    [
        ([made(BLUE, name="Stray")], []),
        ([made(BLUE, name="RedBox.001")], []),
        ([not_finite(BLUE) | {"name": "Stray"}], []),
        ([], [{"name": "Text", "type": "FONT", "kind": "non-mesh", "polygons": 12}]),
        ([], [{"name": "RedBox", "type": "MESH", "kind": "instance", "polygons": 6}]),
    ],
    ids=["mesh", "copy", "not finite", "text", "instance"],
)
def test_something_else_leaves_the_checks_passed_and_the_task_unsolved(things, extra):
    judgement = verdict([RED], made(RED), *things, extra=extra)
    assert failing(judgement) == []
    assert not judgement.solved
    assert judgement.parts == {"ran": 0.1, "checks": 0.5, "bonus": 0.0}


# A linked object may have the name of a local one; packed into the file, its library is measured like the rest.
@pytest.mark.parametrize("twin_first", [True, False])
def test_a_second_object_of_an_asked_name_is_something_else(twin_first):
    move = (4.0, 5.0, 6.0)
    things = [made(RED, low=move, high=move), made(RED)]
    assert not verdict([RED], *(things if twin_first else things[::-1])).solved


@pytest.mark.parametrize(("asked", "shape"), [(RED, "sphere"), (BALL, "cube")])
def test_a_wrong_shape_under_the_right_name_fails_the_name_alone(asked, shape):
    judgement = verdict([asked], made(asked, shape=shape))
    assert failing(judgement) == [f"{asked['name']}.name"]
    assert judgement.checks[0].measured == shape


def test_a_slab_under_the_right_name_fails_only_by_its_size_and_place():
    judgement = verdict([RED], made(RED, high=(0.0, 0.0, -0.7)))
    assert failing(judgement) == ["RedBox.size", "RedBox.position"]


@pytest.mark.parametrize("area", [0.0, 0.01, 0.94 * 3.84])
def test_loose_corners_are_no_cube(area):
    judgement = verdict([RED], made(RED, area=area))
    assert failing(judgement) == ["RedBox.name"]
    assert judgement.checks[0].measured == "other"


UNIT = {"min": [-0.5] * 3, "max": [0.5] * 3, "hull_area": 4.0, "area": 4.0, "nearest": 0.5, "right": 0.0}


@pytest.mark.parametrize(
    ("fill", "shape"),
    [
        (1.0, "cube"),
        (0.95, "cube"),
        (0.949, "other"),
        (0.7, "other"),
        (0.561, "other"),
        (0.56, "sphere"),
        (math.pi / 6, "sphere"),
        (0.35, "sphere"),
        (0.349, "other"),
        (1 / 6, "other"),
        (0.0, "other"),
    ],
)
def test_the_shape_is_told_by_how_much_of_its_box_the_hull_fills(fill, shape):
    assert shape_of(UNIT | {"hull_volume": fill}) == shape


@pytest.mark.parametrize(("nearest", "shape"), [(0.6, "sphere"), (0.4451, "sphere"), (0.4449, "other"), (0.0, "other")])
def test_a_sphere_has_no_vertex_near_its_centre(nearest, shape):
    assert shape_of(UNIT | {"hull_volume": 0.5, "nearest": nearest}) == shape


@pytest.mark.parametrize(("fill", "shape"), [(1.0, "cube"), (0.5, "sphere")])
def test_faces_cover_all_but_a_twentieth_of_the_hull(fill, shape):
    assert shape_of(UNIT | {"hull_volume": fill, "area": 3.81}) == shape
    assert shape_of(UNIT | {"hull_volume": fill, "area": 3.79}) == "other"
    assert shape_of(UNIT | {"hull_volume": fill, "area": 8.0}) == shape, "faces inside take nothing away"


@pytest.mark.parametrize("flat", [(0,), (1,), (2,), (0, 1), (0, 1, 2)])
def test_what_is_flat_has_no_shape(flat):
    most = [-0.5 if axis in flat else 0.5 for axis in range(3)]
    assert shape_of(UNIT | {"max": most, "hull_volume": 0.0, "hull_area": 2.0, "area": 1.0}) == "other"
    assert shape_of(UNIT | {"max": most, "hull_volume": 0.0, "hull_area": 2.0, "area": 2.0}) == "other"


def test_a_flat_object_under_the_right_name_is_judged_like_any_other():
    judgement = verdict([RED], made(RED, high=(0.0, 0.0, -0.8)))
    assert failing(judgement) == ["RedBox.name", "RedBox.size", "RedBox.position"]
