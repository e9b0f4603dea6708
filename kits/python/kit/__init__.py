"""The Python kit: what every Python driver shares, so that a driver is nothing but its subject.

It speaks protocol v1 on standard input and output. Of a driver of records it plays the lab's operations, and is the only code
that reads a clock around it: a driver is a class below `Driver`, and its last line is `Kit(about, Driver).main()`. A service it
starts and ends: a class below `Service`, with `ServiceKit(about, Service).main()` as the last line.
"""

from .driver import About, Asked, Driver, Failure, Model, Open
from .records import COLOURS, CONTENTS
from .service import Service, ServiceKit
from .session import Kit

__all__ = [
    "COLOURS",
    "CONTENTS",
    "About",
    "Asked",
    "Driver",
    "Failure",
    "Kit",
    "Model",
    "Open",
    "Service",
    "ServiceKit",
]
