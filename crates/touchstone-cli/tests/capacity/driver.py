"""The Python kit's sync service, as it is or with one fault that is none of its answers."""

import os
import sys

how, drivers = sys.argv[1:]
if how == "starts-never":
    sys.exit("it starts never")
sys.path.insert(0, drivers)

from fastapi_sqlalchemy import Sync, about  # noqa: E402
from kit import Asked, ServiceKit  # noqa: E402

was_filled = False


class Noticing(Sync):
    """Notices whether it opens what another process has filled: the lab fills a database before it asks anybody."""

    def __init__(self, asked: Asked) -> None:
        global was_filled
        was_filled = any(asked.directory.iterdir())
        super().__init__(asked)


ServiceKit(about("honest" if how == "another" else how), Noticing).main()
if how == "quits-badly" and was_filled:
    os._exit(3)
