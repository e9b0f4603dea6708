"""The Python kit: what every Python driver shares, so that a driver is nothing but its subject.

It speaks protocol v1 on standard input and output, plays the lab's operations against the driver, and is the only code
that reads a clock around a subject. A driver is a class below `Driver`, and its last line is `Kit(about, Driver).main()`.
"""

from .driver import About, Driver, Failure, Model, Open
from .records import COLOURS, CONTENTS
from .session import Kit

__all__ = ["COLOURS", "CONTENTS", "About", "Driver", "Failure", "Kit", "Model", "Open"]
