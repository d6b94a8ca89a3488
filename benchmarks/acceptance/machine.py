"""Machines that the inventory and the checklist have to be right about, each with its tests.

Those that are captures of real machines run where the captures are at hand.
"""

from __future__ import annotations

import json

from benchmarks.acceptance.check import Outcome, check
from benchmarks.acceptance.place import Place
from benchmarks.acceptance.proofs import Proof, check_of

LINES, CAPTURES = "tests/machine/test_checklist.py::test_", "tests/machine/test_captures.py::test_"
FILES = "tests/machine/test_capture_files.py"
READERS, COMMANDS = "tests/machine/test_readers.py", "tests/app/test_machine.py"


def _line(name: str, says: str, *tests: str) -> Proof:
    """A condition that tests of the checklist hold."""
    return Proof(name=name, says=says, tests=tuple(f"{LINES}{test}" for test in tests))


MACHINE_PROOFS = (
    _line("machine-whole", "A server as it should be fails no line and warns of none.",
          "a_server_as_it_should_be_fails_no_line_and_warns_of_none"),
    _line("machine-raid-0", "RAID 0 of four NVMe drives holds; one drive is a warning.",
          "a_raid_0_of_four_nvme_drives_holds",
          "one_nvme_drive_is_a_warning_unless_the_job_needs_no_more"),
    _line("machine-degraded", "A degraded, broken or resyncing array is said.",
          "an_array_that_is_not_whole_is_said", "a_raid_0_that_lost_a_member_fails"),
    _line("machine-os-disk", "A dataset on the system's disk fails, by partitions too.",
          "a_dataset_on_the_systems_disk_fails",
          "a_partition_of_the_systems_disk_is_the_same_disk"),
    _line("machine-checkpoints", "Checkpoints on the dataset's disk fail.",
          "checkpoints_on_the_datasets_disk_fail"),
    _line("machine-virtual-disk", "A virtual disk is unknown, never a guess.",
          "a_virtual_disk_is_unknown_and_never_a_guess"),
    _line("machine-lanes", "A GPU or a drive on half of its lanes fails, a narrow slot warns.",
          "a_gpu_on_eight_of_sixteen_lanes_fails",
          "a_slot_of_eight_lanes_is_a_warning_about_the_slot",
          "an_nvme_drive_on_fewer_lanes_than_it_has_fails"),
    _line("machine-generation", "Generation 1 fails under load and is unknown at rest.",
          "a_gpu_at_generation_1_fails_when_it_works_and_is_unknown_when_it_rests"),
    _line("machine-far-node", "A GPU far from its CPUs, or from the data, is a warning.",
          "a_gpu_on_the_far_node_is_a_warning",
          "drives_on_the_other_socket_than_all_gpus_are_a_warning"),
    _line("machine-roce", "RoCE without PFC warns on one node and fails on several.",
          "roce_without_pfc_is_worse_with_several_nodes"),
    _line("machine-port-down", "An InfiniBand port that is down is named.",
          "an_infiniband_port_that_is_down_is_said"),
    _line("machine-bmc", "No management controller fails on iron, is not present in a guest.",
          "no_management_controller_fails_on_iron_and_is_not_present_in_a_guest"),
    _line("machine-cgroup", "A limit of 2 CPUs on a host of 64, and of memory, counts.",
          "a_limit_of_two_cpus_on_a_host_of_64_is_said",
          "a_memory_limit_of_a_container_counts_as_its_memory"),
    _line("machine-job", "A job's need stands above the rules, and the report says which.",
          "a_job_stands_above_the_rules_and_the_report_says_which"),
    _line("machine-gpus", "Missing NVLinks, sick GPUs and a missing driver are said.",
          "four_gpus_without_nvlink_are_a_warning_and_two_are_none",
          "a_gpu_with_fewer_nvlinks_than_the_others_fails", "a_sick_gpu_is_said",
          "a_gpu_without_a_driver_fails_on_the_machine_and_is_unknown_in_a_bare_capture"),
    Proof(
        name="machine-real",
        says="Captures of five real machines are read rightly, and what they lack is unknown.",
        tests=(CAPTURES.partition("::")[0],),
    ),
    Proof(
        name="machine-readers",
        says="Readers follow LVM, RAID, cgroups, links and mounts as the kernel writes them; an "
        "empty tree gives no number.",
        tests=(READERS, "tests/machine/test_nvml.py", "tests/machine/test_tree.py"),
    ),
    Proof(
        name="machine-capture",
        says="A capture reads as its machine, holds no serial number and no address, and leads "
        "nowhere outside of it.",
        tests=(FILES,),
    ),
    Proof(
        name="machine-topology",
        says="Every GPU, drive and port is drawn once, below its node, in terminal and SVG.",
        tests=("tests/machine/test_topology.py",),
    ),
    Proof(
        name="machine-attested",
        says="What only people know is asked once, kept with name and date, and never stands "
        "above what the machine tells.",
        tests=(
            f"{LINES}a_person_answers_only_what_the_machine_does_not_know",
            f"{COMMANDS}::test_an_answer_is_kept_with_name_and_date_and_asked_once",
            f"{COMMANDS}::test_questions_are_asked_on_a_terminal_alone",
        ),
    ),
)  # fmt: skip


@check(
    name="machine-here",
    topic="Machine",
    line="On this machine every command runs, and every null has a reason.",
    bar="no null without a reason",
)
def machine_here(place: Place) -> Outcome:
    machine = place.record("machine", "show")
    done = place.run("audit", "--dataset", place.folder, "--json")
    audit = json.loads(done.stdout)
    bare = tuple(_unexplained(machine, "machine"))
    counts: dict[str, int] = {}
    for item in audit["items"]:
        counts[item["status"]] = counts.get(item["status"], 0) + 1
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return Outcome(
        figure=f"{len(bare)} nulls without a reason; audit: {said}",
        holds=not bare and done.returncode in (0, 1),
        details=bare,
    )


FREE = {
    "made_by", "alias", "scheduler", "transport", "driver", "evidence", "slot_max", "path_at",
    "bytes_per_second",
}  # fmt: skip
"""Fields whose null says that there is none."""


def _unexplained(value: object, path: str) -> list[str]:
    """Paths of nulls in records that have an ``unknown`` and do not name them there."""
    if isinstance(value, list):
        return [one for part in value for one in _unexplained(part, path)]
    if not isinstance(value, dict):
        return []
    reasons = value.get("unknown")
    found = [
        f"{path}.{name}"
        for name, part in value.items()
        if part is None and isinstance(reasons, dict) and name not in reasons and name not in FREE
    ]
    for name, part in value.items():
        found += _unexplained(part, f"{path}.{name}")
    return found


MACHINE_CHECKS = [
    machine_here,
    *(check_of(proof, topic="Machine", name=proof.name) for proof in MACHINE_PROOFS),
]
