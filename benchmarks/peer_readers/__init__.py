"""filmgate beside the other readers of video: same clips, same machine, same minutes.

``rows`` says what is measured and ``lines`` what is judged. ``rounds`` asks the readers in turns,
each in a process of its own (``process`` on this side, ``sessions`` in there). ``compare`` looks
whether the frames were the right ones, ``report`` writes all of it down. ``benchmarks.peers`` runs
it.
"""
