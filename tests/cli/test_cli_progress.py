import io

from climbable.cli.progress import Lines, Live, duration
from climbable.core.progress import Progress


def play(progress: Progress):
    progress.start("gate", 4, "samples")
    progress.advance(3, reward=0.25)
    progress.say("a line with \x1b[2J in it")
    progress.advance(1, reward=0.5)
    progress.finish()


def test_away_from_a_terminal_there_are_plain_lines(capsys):
    play(Lines(every_s=0))
    text = capsys.readouterr().err
    assert "gate: 3/4 samples, reward 0.25" in text
    assert "gate: 4 samples in" in text
    assert "\x1b" not in text


def test_on_a_terminal_there_is_a_bar_with_the_latest_figures():
    from rich.console import Console

    screen = io.StringIO()
    play(Live(Console(file=screen, force_terminal=True, width=140, highlight=False)))
    assert "reward 0.5" in screen.getvalue()
    assert "4/4" in screen.getvalue()
    assert "\\x1b[2J" in screen.getvalue()


def test_durations_are_read_at_a_glance():
    assert [duration(s) for s in (48, 200, 6000)] == ["48 s", "3 min", "1 h 40 min"]
