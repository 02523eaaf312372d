"""A progress bar, for what takes longer than a second."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Timer

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from zarr_xgroup.i18n import _
from zarr_xgroup.storage.reading import Tally, tallied

#: How many seconds nothing is shown.
_PATIENCE = 1.0
_WIDTH = 30


@contextmanager
def reading_bar(console: Console) -> Iterator[None]:
    """Show in a terminal how much of the metadata is read, if that takes longer than a second."""
    with tallied() as tally:
        live = Live(
            get_renderable=partial(_bar, tally),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        timer = Timer(_PATIENCE, live.start)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # it may be about to show the bar
            live.stop()


def _bar(tally: Tally) -> Table:
    """Return the bar as it stands: one that only moves as long as it is not known how much there is."""
    read, asked = tally["answered"], tally["asked"]
    counts = _("{read} of {asked} documents").format(read=read, asked=asked)
    bar = ProgressBar(asked, read, width=_WIDTH, pulse=not read)
    table = Table.grid(padding=(0, 1))
    table.add_row(Text(_("Reading metadata")), bar, Text(counts))
    return table
