"""What the processes of a server need of the system, from the parts of the standard library that are written in C.

The modules around them bring enumerations, selectors and regular expressions along, which would take a megabyte in each
process. Sockets from here are no context managers, and have no ``accept``.
"""

import _signal as signal
import _socket as socket
import _struct as struct

__all__ = ["signal", "socket", "struct"]
