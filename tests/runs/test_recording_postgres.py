"""A run in PostgreSQL is the run in a file."""

from mesa_memory import open_run, resume
from tests.support.playing import lived, play
from tests.support.recorded_town import RecordedTown


def test_a_run_in_postgresql_is_that_in_a_file_also_if_resumed_or_replayed(
    postgres, tmp_path
):
    file, address = str(tmp_path / "run.sqlite"), postgres.database()
    town = play(RecordedTown(file, record=file), 9)
    play(RecordedTown(address, record=address), 5)
    again = resume(RecordedTown, address, file=address, record=address)
    assert again.steps == 5
    play(again, 4)
    with open_run(file) as one, open_run(address) as other:
        assert one.differences(other) is None
        assert list(one.steps) == list(other.steps)
    given = {"llm": None, "record": None, "replay": address}
    assert lived(RecordedTown(address, **given), 9).diary == town.diary
