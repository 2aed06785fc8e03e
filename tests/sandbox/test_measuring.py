"""What a saved scene may do to the process that measures it: real Blender, each attack followed by honest work."""

import pytest

from climbable.core.types import Outcome, Reason
from climbable.sandbox import Limits
from climbable.sandbox.driver import MODES

LIMITS = Limits(wall_s=20, measure_s=4, measure_memory_mib=1024)
CUBE = "import bpy\nbpy.ops.mesh.primitive_cube_add(size=1)\ncube = bpy.context.object\n"
MODIFIER = CUBE + "added = cube.modifiers.new('bomb', '{0}')\n"

BOMBS = {
    "subdivisions": MODIFIER.format("SUBSURF") + "added.levels = 11\n",
    "arrays-of-arrays": CUBE + "for n in range(4): cube.modifiers.new(str(n), 'ARRAY').count = 1000\n",
    "array-by-length": MODIFIER.format("ARRAY") + "added.fit_type = 'FIT_LENGTH'\nadded.fit_length = 1e6\n",
    "screw": "import bpy\nbpy.ops.mesh.primitive_grid_add(x_subdivisions=300, y_subdivisions=300)\n"
    "added = bpy.context.object.modifiers.new('bomb', 'SCREW')\nadded.steps = added.render_steps = 512\nadded.iterations = 100\n",
    "voxels": MODIFIER.format("REMESH") + "added.mode = 'VOXEL'\nadded.voxel_size = 0.0005\n",
    "stored": "import bpy\nmesh = bpy.data.meshes.new('big')\nmesh.vertices.add(2_100_000)\n"
    "bpy.context.collection.objects.link(bpy.data.objects.new('big', mesh))\n",
    "objects": CUBE + "for n in range(10_001): bpy.context.collection.objects.link(bpy.data.objects.new('o', cube.data))\n",
    "nodes": MODIFIER.format("NODES") + "group = bpy.data.node_groups.new('g', 'GeometryNodeTree')\n"
    "group.interface.new_socket('Geometry', in_out='OUTPUT', socket_type='NodeSocketGeometry')\n"
    "grid, out = group.nodes.new('GeometryNodeMeshGrid'), group.nodes.new('NodeGroupOutput')\n"
    "grid.inputs['Vertices X'].default_value = grid.inputs['Vertices Y'].default_value = 20_000\n"
    "group.links.new(grid.outputs[0], out.inputs[0])\nadded.node_group = group\n",
    "instances": CUBE + "inner = bpy.data.collections.new('c')\ninner.objects.link(cube)\nfor n in range(6):\n"
    "    outer = bpy.data.collections.new('c')\n    for _ in range(12):\n"
    "        empty = bpy.data.objects.new('e', None)\n        empty.instance_type = 'COLLECTION'\n"
    "        empty.instance_collection = inner\n        outer.objects.link(empty)\n    inner = outer\n"
    "bpy.context.scene.collection.children.link(inner)\n",
    "power-driver": CUBE + "cube.driver_add('location', 0).driver.expression = '9**9**9**9'\n",
    "curve": "import bpy\ncurve = bpy.data.curves.new('c', 'CURVE')\ncurve.dimensions = '3D'\nline = curve.splines.new('BEZIER')\n"
    "line.bezier_points.add(20_000)\ncurve.resolution_u = 1024\ncurve.bevel_depth = 1\ncurve.bevel_resolution = 32\n"
    "bpy.context.collection.objects.link(bpy.data.objects.new('c', curve))\n",
}  # fmt: skip
"""More than the measurer may take on."""

ODDITIES = {
    "deep-driver": CUBE + "cube.driver_add('location', 0).driver.expression = '(' * 100 + '1' + ')' * 100\n",
    "long-driver": CUBE + "cube.driver_add('location', 0).driver.expression = '+'.join('1' * 120)\n",
    "python-driver": CUBE + "bpy.app.driver_namespace['f'] = lambda: 5\n"
    "cube.driver_add('location', 0).driver.expression = 'f()'\n",
    "circle-of-parents": CUBE + "other = bpy.data.objects.new('o', None)\nbpy.context.collection.objects.link(other)\n"
    "cube.constraints.new('COPY_LOCATION').target = other\nother.constraints.new('COPY_LOCATION').target = cube\n",
    "control-characters": CUBE + "cube.name = '\\x1b[2J\\n\\r\\x07\\x7f\\x85'\n",
    "right-to-left": CUBE + "cube.name = '\\u202e\\u2066RedBox\\u0000x'[:8]\n",
    "long-name": CUBE + "cube.name = 'x' * 10_000\n",
    "device-as-image": MODIFIER.format("DISPLACE") + "added.mid_level = 0\nadded.texture = bpy.data.textures.new('t', 'IMAGE')\n"
    "added.texture.image = bpy.data.images.new('i', 1, 1)\nadded.texture.image.source = 'FILE'\n"
    "added.texture.image.filepath = '/dev/zero'\n",
    "sound-cache-and-font": CUBE + "bpy.context.scene.sync_mode = 'AUDIO_SYNC'\nbpy.context.scene.frame_set(1 << 19)\n",
}  # fmt: skip
"""Odd, but there is one cube, and that is what is measured."""

NOT_FINITE = {
    "location": "cube.location.x = float('nan')\n",
    "vertex": "cube.data.vertices[0].co.z = float('nan')\n",
}


@pytest.fixture(scope="module")
def box(start):
    with start(MODES[0], limits=LIMITS) as box:
        yield box


@pytest.fixture(autouse=True)
def honest_work_is_measured_afterwards(request):
    yield
    if "box" in request.fixturenames:
        run = request.getfixturevalue("box").run(CUBE)
        assert run.outcome is Outcome.SCORED and len(run.artefact["objects"]) == 1, run


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_the_scripts_fault(box, name):
    run = box.run(BOMBS[name])
    assert run.outcome is Outcome.FAILED, run
    assert run.reason in (Reason.MEMORY, Reason.TIMEOUT, Reason.UNREADABLE)
    assert "measure" in run.seconds, f"it never came to the measurer: {run}"


@pytest.mark.parametrize("name", ODDITIES)
def test_an_odd_scene_is_measured_as_the_one_cube_that_it_is(box, name):
    run = box.run(ODDITIES[name])
    assert run.outcome is Outcome.SCORED, run
    (cube,) = run.artefact["objects"]
    extents = [high - low for low, high in zip(cube["min"], cube["max"], strict=True)]
    assert extents == pytest.approx([1, 1, 1], abs=1e-4)


@pytest.mark.parametrize("name", NOT_FINITE)
def test_what_is_not_finite_is_told_and_has_no_size(box, name):
    run = box.run(CUBE + NOT_FINITE[name])
    assert run.outcome is Outcome.SCORED, run
    assert [(cube["finite"], cube["min"]) for cube in run.artefact["objects"]] in ([(False, None)], [])


@pytest.mark.parametrize("scale", ["1e30", "float('inf')"])
def test_what_is_far_too_large_is_measured_as_that(box, scale):
    (cube,) = box.run(CUBE + f"cube.scale = ({scale},) * 3\n").artefact["objects"]
    assert not cube["finite"] or cube["max"][0] > 1e29


def test_a_linked_file_that_is_not_the_artefact_is_not_there(box):
    run = box.run(
        CUBE + "import os\nbpy.data.libraries.write(os.path.abspath('lib.blend'), {cube}, fake_user=True)\n"
        "bpy.data.objects.remove(cube)\nbpy.ops.wm.save_as_mainfile(filepath=os.path.abspath('main.blend'))\n"
        "with bpy.data.libraries.load(os.path.abspath('lib.blend'), link=True) as (_, to): to.objects = ['Cube']\n"
        "bpy.context.scene.collection.objects.link(to.objects[0])\n"
    )
    assert (run.outcome, run.artefact["objects"], run.artefact["extra"]) == (Outcome.SCORED, [], []), run


def test_a_lone_surrogate_cannot_become_a_name(box):
    run = box.run(CUBE + "cube.name = '\\udc80'\n")
    assert (run.outcome, run.reason) == (Outcome.FAILED, Reason.CRASHED)
    assert "\udc80" not in run.detail
