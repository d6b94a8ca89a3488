"""The list of work that indexing, preparing and staging share."""

from __future__ import annotations

from benchmarks.acceptance.proofs import Proof, check_of

KILL, RAY = "tests/work/test_kill.py", "tests/work/test_ray.py"
INDEX, INDEX_ON_RAY = "tests/catalog/test_read_new.py", "tests/catalog/test_read_new_on_ray.py"
COMMANDS_ON_RAY = "tests/app/test_on_ray.py"

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
        "goes on where the other was; index and prepare give the bytes of local ones.",
        tests=(RAY, COMMANDS_ON_RAY),
    ),
    Proof(
        name="work-index",
        says="Indexing is a list of work: killed, its journal damaged, held up by a file, or with "
        "one of two Ray nodes lost, it ends with the catalog of an undisturbed index.",
        tests=(INDEX, INDEX_ON_RAY),
    ),
)
WORK_CHECKS = [check_of(proof, topic="Work", name=proof.name) for proof in CONDITIONS]
