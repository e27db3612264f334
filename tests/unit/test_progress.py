import pytest

from cptw_search.progress import progress_bar


def test_nothing_is_shown_where_standard_error_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("Counting", 2) as advance:
        advance(1)
    assert capsys.readouterr() == ("", "")


def test_short_work_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("Counting", 2, show=True) as advance:
        advance(1)
    assert "Counting" not in capsys.readouterr().err


def test_long_work_shows_a_bar_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cptw_search.progress.SHOW_AFTER_SECONDS", -1.0)
    with progress_bar("Counting", 2, show=True) as advance:
        advance(1)
        advance(1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Counting" in shown.err
    assert "/s" in shown.err  # how quick it is
