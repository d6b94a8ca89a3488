"""filmgate beside the other readers of video: same clips, same machine, same minutes.

``rows`` says what is compared, ``one`` measures one reader in a process of its own, ``rounds``
calls it in turns, ``compare`` looks whether the frames were the right ones, ``report`` writes it
down. ``benchmarks.bench_peers`` runs all of it.
"""
