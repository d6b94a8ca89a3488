"""``python -m filmgate`` is the ``filmgate`` command."""

import signal

# Until the command line can answer it, Ctrl-C ends the process instead of showing where it was.
if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from filmgate.app.cli import main

if __name__ == "__main__":
    main()
