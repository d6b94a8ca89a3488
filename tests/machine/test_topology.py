from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from filmgate.machine.machine import Machine
from filmgate.machine.topology import Box, topology_of
from filmgate.machine.topology_svg import topology_svg
from filmgate.machine.topology_text import topology_text
from tests.machine.made import BRIDGE, NVME, made_server, nvml_gpu


def titles(box: Box) -> list[str]:
    return [box.title, *(title for one in box.boxes for title in titles(one))]


def server_with(num_gpus: int, num_drives: int, num_ports: int) -> Machine:
    made = made_server()
    for index in range(num_gpus):
        made.gpu(node=index % 2)
    for index in range(num_drives):
        made.nvme(index, node=index % 2)
    for index in range(num_ports):
        made.rdma(index)
    return made.machine()


@given(st.integers(0, 8), st.integers(0, 6), st.integers(0, 3))
def test_every_gpu_drive_and_port_is_drawn_once(gpus: int, drives: int, ports: int) -> None:
    machine = server_with(gpus, drives, ports)
    topology = topology_of(machine)
    drawn = titles(topology.machine)
    for index in range(gpus):
        assert drawn.count(f"GPU {index}") == 1
    for index in range(drives):
        assert drawn.count(f"nvme{index}n1") == 1
    assert sum(title.startswith("network") for title in drawn) == ports
    svg = ElementTree.fromstring(topology_svg(topology))
    texts = ["".join(one.itertext()) for one in svg.iter() if one.tag.endswith("text")]
    assert [title for title in drawn if title not in texts] == []
    assert all(f" {title}" in f" {topology_text(topology)}" for title in drawn)


def test_boxes_lie_inside_the_drawing_and_beside_each_other() -> None:
    svg = ElementTree.fromstring(topology_svg(topology_of(server_with(8, 6, 2))))
    width, height = float(svg.get("width", 0)), float(svg.get("height", 0))
    boxes = [
        tuple(float(one.get(name, 0)) for name in ("x", "y", "width", "height"))
        for one in svg.iter()
        if one.tag.endswith("rect")
    ]
    for x, y, w, h in boxes:
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    for number, (x, y, w, h) in enumerate(boxes):
        for x2, y2, w2, h2 in boxes[number + 1 :]:
            apart = x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
            inside = x <= x2 and y <= y2 and x2 + w2 <= x + w + 1 and y2 + h2 <= y + h + 1
            assert apart or inside


def test_devices_hang_below_their_node_and_their_switch() -> None:
    made = made_server()
    made.gpu(node=1)
    made.pci("0000:50:01.0", BRIDGE, node=1, link=(4, 16))
    for number in (1, 2):
        above = ["0000:50:01.0"]
        place = made.pci(f"0000:5{number}:00.0", NVME, node=1, above=above, link=(4, 4))
        made.block(f"nvme{number}n1", f"{place}/nvme/nvme{number}", f"259:{number}")
    text = topology_text(topology_of(made.machine()))
    assert text.index("NUMA node 1") < text.index("GPU 0")
    assert "|   |-- nvme1n1" in text or "    |-- nvme1n1" in text
    assert "PCIe bridge 0000:50:01.0: link gen 4 x16" in text


def test_what_joins_gpus_is_said_for_bridges_and_for_switches() -> None:
    made = made_server()
    link = (nvml_gpu(0, "").nvlinks or [])[0]
    made.gpu(nvlinks=[])
    made.gpu(nvlinks=[])
    assert topology_of(made.machine()).links == ()
    switched = server_with(4, 0, 0)
    assert topology_of(switched).links == ("4 GPUs joined by NVSwitch, 18 NVLinks each",)
    assert link.to_switch


def test_names_from_a_machine_cannot_leave_the_drawing() -> None:
    made = made_server()
    made.gpu(name='</text><script>alert("x")</script>')
    svg = topology_svg(topology_of(made.machine()))
    assert "<script>" not in svg
    ElementTree.fromstring(svg)
