"""The Python kit's sync service, as it is or with one fault that is none of its answers."""

import os
import sys

how, drivers = sys.argv[1:]
if how == "starts-never":
    sys.exit("it starts never")
sys.path.insert(0, drivers)

from fastapi_sqlalchemy import Batch, Stored, Sync, XClient, about  # noqa: E402
from kit import Asked, ServiceKit  # noqa: E402

was_filled = False
uploads = 0


def dies(batch: Batch) -> None:
    """One mode dies once it is asked for long enough, others in the window that warms up or that in which the lab would kill it."""
    global uploads
    uploads += 1
    window = {"dies-in-the-warm-up": "w0-", "dies-before-the-kill": "w3-"}.get(how, "none")
    in_window = any(change.id.startswith(window) for change in batch.changes)
    if was_filled and (how == "dies-asked" and uploads >= 3 or in_window):
        print("fatal: out of leaves", file=sys.stderr, flush=True)
        os._exit(7)


class Noticing(Sync):
    """Notices whether it opens what another process has filled: the lab fills a database before it asks anybody."""

    def __init__(self, asked: Asked) -> None:
        global was_filled
        was_filled = any(asked.directory.iterdir())
        super().__init__(asked)

    def upload(self, batch: Batch, x_client: XClient = None) -> Stored:
        dies(batch)
        return super().upload(batch, x_client)


ServiceKit(about("honest" if how == "another" else how), Noticing).main()
if how == "quits-badly" and was_filled:
    os._exit(3)
