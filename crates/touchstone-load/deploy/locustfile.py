"""What Locust's master reads where touchstone-load's workers are its users: a class to count them by. It runs nothing itself.

The exact histograms that come with each report are kept, a line of JSON each, where TOUCHSTONE_EXACT names a file.
"""

import json
import os

from locust import User, events, task


class Touchstone(User):
    """One user of a worker. What it does stands in the worker's scenario."""

    @task
    def nothing(self):
        """A class without a task is none to Locust."""


@events.worker_report.add_listener
def keep_exact(client_id, data, **_rest):
    """Keeps the histograms of a report, which Locust itself passes over."""
    path = os.environ.get("TOUCHSTONE_EXACT")
    if path and data.get("touchstone"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"worker": client_id, "rows": data["touchstone"]}) + "\n")
