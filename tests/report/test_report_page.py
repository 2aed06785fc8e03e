import json
import re

import pytest

from climbable.cli import main
from climbable.core.errors import UserError
from climbable.core.run import RunFolder
from climbable.report import write_report

MARKUP = re.compile(r"<style>.*?</style>", re.DOTALL)


def page(run):
    return write_report(run).read_text(encoding="utf-8")


def test_a_finished_run_says_what_was_learnt_with_intervals_and_tests(finished_run):
    html = page(finished_run)
    base, trained = (json.loads((finished_run.evals / f"{name}.json").read_text()) for name in ("base", "trained"))
    for figures in (base, trained):
        assert f"{100 * figures['trained']['pass_at_1']['estimate']:.1f} %" in html
    assert f"n = {trained['trained']['pass_at_1']['n']} tasks, p &lt; 0.001" in html
    assert "held-out families" in html


@pytest.mark.parametrize(
    "heading",
    [
        "Before and after",
        "Along the run",
        "Was the reward climbable?",
        "Terms of the objective",
        "What goes wrong",
        "Five samples",
        "What it cost",
    ],
)
def test_a_finished_run_has_every_section(finished_run, heading):
    assert f"<h2>{heading}</h2>" in page(finished_run)


@pytest.mark.parametrize(
    "title", ["Reward", "Groups", "Failed samples", "Gradient norm", "Seconds a step", "Warm-up loss"]
)
def test_every_curve_is_drawn_in_the_page(finished_run, title):
    figure = page(finished_run).partition(f"<figcaption>{title}<")[2].partition("</figure>")[0]
    assert "<svg" in figure
    assert "<path" in figure


def test_the_page_asks_the_network_for_nothing_and_runs_nothing(finished_run):
    html = page(finished_run)
    assert "default-src 'none'" in html
    assert "<script" not in html
    assert not re.search(r"""(?:src|href)=["'](?!#)""", html)
    assert set(re.findall(r"https?://[^\"'<\s]+", html)) <= {
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/2000/svg",
    }
    assert not re.search(r"url\((?!#)", html)


def test_ids_are_unique(finished_run):
    ids = re.findall(r'\sid="([^"]+)"', page(finished_run))
    assert len(ids) == len(set(ids))


def test_what_a_model_wrote_stays_text(finished_run):
    rows = [json.loads(line) for line in finished_run.rollouts.read_text().splitlines()]
    attack = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\u202e\ud800{{ 7 * 7 }}"
    for row in rows:
        row["completion"] = attack
        row["score"]["detail"] = attack
        for check in row["score"]["checks"]:
            check["name"] = check["measured"] = attack
    finished_run.rollouts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    html = page(finished_run)
    assert "<script" not in html and "<img" not in html
    assert "&lt;script&gt;" in html
    assert "{{ 7 * 7 }}" in html
    assert not {"\x1b", "\u202e"} & set(html)


def test_a_crash_marks_the_line_that_raised(finished_run):
    rows = [json.loads(line) for line in finished_run.rollouts.read_text().splitlines()]
    for row in rows:
        row["completion"] = "first\nsecond\nthird"
        row["score"] |= {"outcome": "failed", "reason": "crashed", "detail": "ValueError: no (line 2)", "checks": []}
    finished_run.rollouts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert re.findall(r'class="line fail"><b>(\d+)</b>(\w+)', page(finished_run))[0] == ("2", "second")


@pytest.mark.parametrize("end", [b'{"stage": "train", "st', b"\xff\xfe\n", b"[1]\n", b"[" * 100_000 + b"\n"])
@pytest.mark.parametrize("name", ["rollouts", "metrics", "costs"])
def test_a_torn_line_is_left_out_and_named(finished_run, name, end):
    path = getattr(finished_run, name)
    path.write_bytes(path.read_bytes() + end)
    html = page(finished_run)
    assert f"1 line of {path.name}" in html
    assert "First attempts that solve" in html


@pytest.mark.parametrize("name", ["gate", "untrained_gate", "pilot", "environment", "recipe"])
def test_a_torn_file_is_left_out(finished_run, name):
    path = getattr(finished_run, name)
    path.write_bytes(path.read_bytes()[:25] + b"\xff")
    assert path.name in MARKUP.sub("", page(finished_run)).partition("<footer>")[2]


@pytest.mark.parametrize(
    "name", ["gate", "untrained_gate", "pilot", "environment", "recipe", "rollouts", "metrics", "costs"]
)
def test_a_missing_file_is_no_obstacle(finished_run, name):
    getattr(finished_run, name).unlink()
    assert "<h1>" in page(finished_run)


def test_an_unfinished_run_says_how_far_it_has_come(finished_run):
    for name in ("trained", "comparison", "warmup"):
        (finished_run.evals / f"{name}.json").unlink()
    costs = [
        line
        for line in finished_run.costs.read_text().splitlines(True)
        if "train" not in line.split(",")[0].replace("untrained", "")
    ]
    finished_run.costs.write_text("".join(costs))
    html = page(finished_run)
    assert "This run is not finished. Finished so far: Gate, untrained, Evaluation, untrained" in html
    assert "--resume" in html


def test_a_run_that_has_just_begun_has_a_page(finished_run, tmp_path):
    run = RunFolder(tmp_path / "young")
    run.path.mkdir()
    run.recipe.write_bytes(finished_run.recipe.read_bytes())
    assert "No stage has finished yet." in page(run)


def test_a_folder_without_a_run_is_a_mistake(tmp_path):
    with pytest.raises(UserError, match="holds no run"):
        write_report(RunFolder(tmp_path))


def test_the_verb_writes_where_it_is_told(finished_run, tmp_path, capsys):
    assert main(["report", str(finished_run.path), "--out", str(tmp_path / "page.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": str(tmp_path / "page.html")}
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert main(["report", str(tmp_path / "nowhere")]) == 2


def test_a_forced_run_says_so(finished_run):
    assert "was forced" not in page(finished_run)
    rows = [json.loads(line) for line in finished_run.costs.read_text().splitlines()]
    finished_run.costs.write_text("".join(json.dumps(row | {"forced": row["stage"] == "train"}) + "\n" for row in rows))
    assert "was forced" in page(finished_run)
