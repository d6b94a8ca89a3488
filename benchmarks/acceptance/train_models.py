"""Known models learn from real clips; what they leave is read by the libraries they come from."""

from __future__ import annotations

from benchmarks.acceptance.proofs import Proof, check_of

TOPIC = "Training"
_FOLDER = "tests/train/families"
CONDITIONS = (
    Proof(
        name="videomae",
        says="A tiny VideoMAE learns two kinds of generated clips through the feed on the CPU, to "
        "nine of ten held-out clips right, in under two minutes.",
        tests=(
            f"{_FOLDER}/test_classifiers.py"
            "::test_a_tiny_videomae_tells_two_kinds_of_real_clips_apart",
        ),
    ),
    Proof(
        name="wan-lora",
        says="A LoRA of a tiny Wan learns new footage through the feed on the CPU, to 8 % less "
        "held-out loss than its base; plain diffusers loads it and says what the trained one does.",
        tests=(
            f"{_FOLDER}/test_generation.py"
            "::test_a_tiny_wan_lora_learns_other_footage_and_plain_diffusers_loads_it",
        ),
    ),
)
TRAIN_MODEL_CHECKS = [
    check_of(proof, topic=TOPIC, name=f"train-{proof.name}") for proof in CONDITIONS
]
