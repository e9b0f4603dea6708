"""Services: subjects that answer requests over HTTP. The kit takes the port, starts the service in its own process, and ends it;
what it measures by is the load generator's, so no clock is read here."""

from __future__ import annotations

import errno
import http.client
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Optional

from .conversation import Conversation
from .driver import About, Asked, Failure

ADDRESS = "127.0.0.1"
PORT_MAX = 65535
#: How many connections may wait to be accepted: as many as Uvicorn, Gunicorn and nginx let wait, more or less.
BACKLOG = 2048
#: How long a service may take to answer for the first time, and to end.
WAIT_SECONDS_MAX = 30


class Service:
    """A database and what answers from it, from `serve` to `close`."""

    def __init__(self, asked: Asked) -> None:
        """Opens the database, and makes it in a directory that is empty."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """What took effect, read back from a connection of the service's own."""
        raise NotImplementedError

    def answer(self, listening: socket.socket) -> None:
        """Answers those who connect, until `leave` is called. Runs in a thread of its own."""
        raise NotImplementedError

    def leave(self) -> None:
        """Lets `answer` return once those that were asked are answered. Called by another thread."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the database. Nobody is being answered any more."""
        raise NotImplementedError

    @staticmethod
    def kind_of(error: Exception) -> str:
        """The protocol's kind of an exception of the subject's."""
        return "other"


class Answering(threading.Thread):
    """The thread that a service answers in. What ends it too early is kept."""

    def __init__(self, service: Service, listening: socket.socket) -> None:
        # The lab's requests are read by the main thread. Where that ends, a service that still answers holds up nothing.
        super().__init__(daemon=True)
        self.service, self.listening = service, listening
        self.error: Optional[Exception] = None

    def run(self) -> None:
        try:
            self.service.answer(self.listening)
        except Exception as error:
            self.error = error


class Serving(NamedTuple):
    """A service that answers."""

    service: Service
    listening: socket.socket
    thread: Answering


class ServiceKit(Conversation):
    """Speaks for one service."""

    def __init__(self, about: About, service: type[Service]) -> None:
        super().__init__(about)
        self.service = service
        self.serving: Optional[Serving] = None

    def capabilities(self) -> list[str]:
        return ["change.serve"]

    def kind_of(self, error: Exception) -> str:
        return self.service.kind_of(error)

    def _serve(self, directory_: str, port_: int, settings_: dict[str, Any]) -> dict[str, Any]:
        if self.serving is not None:
            raise Failure("protocol", "a service is there already; close it first")
        if port_ > PORT_MAX:
            raise Failure("protocol", f"port {port_} was asked for; ports are at most {PORT_MAX}")
        listening = _listening(port_)
        try:
            service = self.service(Asked(Path(directory_), settings_))
        except BaseException:
            listening.close()
            raise
        port = listening.getsockname()[1]
        thread = Answering(service, listening)
        self.serving = Serving(service, listening, thread)
        try:
            thread.start()
            _ask_once(port)
            return {"port": port, "settings": service.settings()}
        except BaseException as error:
            # A service that has never answered may not know how to leave: that would hide why it has not.
            with suppress(Exception):
                self.close()
            if thread.error is not None:
                raise thread.error from error
            raise

    def _close(self) -> dict[str, Any]:
        if self.serving is None:
            raise Failure("protocol", "there is no service to close; ask it to serve first")
        self.close()
        return {}

    def close(self) -> None:
        """Ends the service, if there is one: what it was asked it answers, and then its port is free."""
        serving, self.serving = self.serving, None
        if serving is None:
            return
        serving.service.leave()
        serving.thread.join(WAIT_SECONDS_MAX)
        if serving.thread.is_alive():
            raise Failure("other", f"the service was told to leave and still answers after {WAIT_SECONDS_MAX} s")
        serving.listening.close()
        serving.service.close()


def _listening(port: int) -> socket.socket:
    """A socket that listens at this port, or for 0 at any that is free. Who connects early waits until the service is there."""
    try:
        return socket.create_server((ADDRESS, port), backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Failure("busy", f"port {port} of {ADDRESS} is in use: end what listens there, or ask for another") from error
        raise Failure("io", f"port {port} of {ADDRESS} cannot be listened at: {error.strerror}") from error


def _ask_once(port: int) -> None:
    """Waits until the service answers a request, any answer being one."""
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=WAIT_SECONDS_MAX)
    try:
        connection.request("GET", "/")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        raise Failure("other", f"the service does not answer: {error!r}") from error
    finally:
        connection.close()
