"""The list of work that indexing, preparing and staging share."""

from __future__ import annotations

from benchmarks.acceptance.proofs import Proof, check_of

KILL, RAY = "tests/work/test_kill.py", "tests/work/test_ray.py"

CONDITIONS = (
    Proof(
        name="work-kill",
        says="kill -9 at any point of a commit and at 20 random times: each task once, no file "
        "published twice.",
        tests=(KILL,),
    ),
    Proof(
        name="work-ray",
        says="Two Ray nodes, one killed midway: the set completes, each file once; one executor "
        "goes on where the other was.",
        tests=(RAY,),
    ),
)
WORK_CHECKS = [check_of(proof, topic="Work", name=proof.name) for proof in CONDITIONS]
