"""What the report says of where the signal is, from lines of metrics that are made up here."""

import json
import re
from types import SimpleNamespace

import pytest

from climbable.cli import main
from climbable.report import signal, write_report


def row(step, kinds, **more):
    columns = [sum(column) for column in zip(*(c for of in kinds.values() for c in of.values()), strict=True)]
    counts = {"groups": sum(columns), "with_signal": columns[0], "unmeasured": columns[3]}
    return {"stage": "train", "step": step, "kinds": kinds, "signal": counts, "samples": 8 * sum(columns)} | more


def run(rows):
    return SimpleNamespace(metrics=tuple(rows))


FACES = {"next_to": {"next_to/+x": [0, 1, 5, 0], "next_to/-x": [1, 5, 0, 0]}, "stack": {"stack": [3, 3, 0, 1]}}


def test_the_table_holds_families_and_their_sub_kinds_in_shares_of_measured_groups():
    lines = {line.name: line for line in signal.standings(run(row(step, FACES) for step in range(1, 5)))}
    assert list(lines) == ["next_to", "next_to/+x", "next_to/-x", "stack"]
    assert (lines["next_to"].groups, lines["next_to"].hopeless) == (48, 20 / 48)
    assert (lines["stack"].groups, lines["stack"].unmeasured, lines["stack"].signal) == (28, 4, 0.5)
    assert [line.word for line in lines.values()] == ["", "hopeless", "solved", ""]


def test_only_the_latest_steps_count():
    rows = [row(step, {"stack": {"stack": [0, 0, 8, 0]}}) for step in range(1, 41)]
    rows += [row(step, {"stack": {"stack": [0, 8, 0, 0]}}) for step in range(41, 51)]
    (line,) = signal.standings(run(rows))
    assert (line.groups, round(line.solved, 3)) == (96, round(80 / 96, 3))


def test_what_is_solved_and_hopeless_is_named_with_its_share():
    said = signal.sentences(run([row(1, FACES), row(2, FACES)]))
    assert said[:2] == ["Solved: next_to/-x 83.3 %.", "Hopeless: next_to/+x 83.3 %."]
    assert "train.group" in said[2]


def test_a_few_groups_are_called_nothing():
    assert signal.sentences(run([row(1, FACES)])) == []


def fading(steps, **more):
    return [row(t, {"f": {"f": [32 - t, t, 0, 0]}}, **more) for t in range(1, steps + 1)]


def test_the_outlook_is_a_number_of_steps_with_its_interval():
    said = signal.sentences(run(fading(20)))
    assert re.match(r"Signal share 0\.\d\d now, below 0\.1 in about \d+ steps \(\d+–\d+\)\.$", said[0]), said
    assert any("[ladder]" in line for line in signal.sentences(run(fading(28))))


def test_where_next_to_nothing_is_left_the_advice_is_to_stop():
    said = signal.sentences(run(fading(31)))
    assert "already" in said[0] and any(line.startswith("Stop here") for line in said)


def test_the_fit_begins_anew_with_each_rung():
    climb = {"rung": "many", "solved": "stack", "pass_at_1": 0.97, "groups": 64}
    rows = fading(31)
    rows[-1] |= {"climb": climb}
    again = [row(31 + t, {"f": {"f": [20, 12, 0, 0]}}) for t in range(1, 4)]
    assert not any("Signal share" in line for line in signal.sentences(run([*rows, *again])))


def test_replaced_groups_are_counted_with_their_share_and_seconds():
    cost = {"resampled": {"rounds": 1, "groups": 4, "samples": 32}, "seconds": {"resample": 2.0, "total": 9.0}}
    (said,) = [line for line in signal.sentences(run(fading(4, **cost))) if "Dynamic" in line]
    assert said.startswith("Dynamic sampling replaced 16 groups: 128 samples (12.5 % of all)") and "8.0 s" in said


@pytest.fixture
def climbed(finished_run):
    rows = [json.loads(line) for line in finished_run.metrics.read_text().splitlines()]
    for each in rows:
        if each["stage"] == "train" and each["step"] == 9:
            each["climb"] = {"rung": "many@2", "solved": "one, two", "pass_at_1": 0.96875, "groups": 64}
    finished_run.metrics.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return finished_run


def test_the_page_has_the_table_and_marks_the_climb_in_its_curves(climbed):
    html = write_report(climbed).read_text(encoding="utf-8")
    section = html.partition("<h2>Signal</h2>")[2].partition("</section>")[0]
    assert "many@2" in section and "96.9 % over 64 groups" in section and ">one<" in section
    for title in ("Reward", "Groups", "Failed samples", "Gradient norm", "Seconds a step"):
        assert "many@2" in html.partition(f"<figcaption>{title}<")[2].partition("</figure>")[0], title
    ids = re.findall(r'\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_the_verb_says_it_too(climbed, capsys):
    assert main(["report", str(climbed.path)]) == 0
    told = capsys.readouterr()
    assert told.out.strip().endswith("report.html") and "Solved: " in told.err + told.out
