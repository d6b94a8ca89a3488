"""The tables of ``job.toml``. Every field has a default, so five lines are a job."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from filmgate.records import Record

# Upper bounds are what every library behind takes, so that no number fails later than here.
Positive = Annotated[int, Meta(ge=1, le=2_000_000_000)]
Seed = Annotated[int, Meta(ge=0, le=9_000_000_000_000_000_000)]
Fraction01 = Annotated[float, Meta(ge=0, lt=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Area = Annotated[float, Meta(gt=0, le=1)]
Aspect = Annotated[float, Meta(ge=0.01, le=100)]
Strength = Annotated[float, Meta(ge=0, le=10)]
Alpha = Annotated[float, Meta(ge=0, le=1000)]


class About(Record, frozen=True, forbid_unknown_fields=True):
    """``[job]``: what the run is called and what makes it repeatable."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = "run"
    """Letters, digits, dot, dash, underscore; names the run folder."""
    task: Literal["classify"] = "classify"
    """What is trained."""
    seed: Seed = 0
    """Everything random in the run is a function of it."""


class Clip(Record, frozen=True, forbid_unknown_fields=True):
    """``[clip]``: the frames of one sample and their shape."""

    frames: Positive = 8
    """Frames per clip (T)."""
    sampling: Literal["random", "uniform", "dense"] = "random"
    """``random``: a clip starts anywhere; ``dense``: the clips of a video follow each other from
    epoch to epoch, until all of it was shown; ``uniform``: one frame of each of ``frames`` equal
    parts of the video, without ``stride`` and ``fps``."""
    stride: Positive | None = None
    """Source frames from one clip frame to the next; 2 where neither this nor ``fps`` is given."""
    fps: Annotated[float, Meta(ge=0.0001, le=1_000_000)] | None = None
    """Clip frames per second of source time, found by time and never by frame-rate arithmetic."""
    height: Positive = 112
    """Pixels (H) of the delivered clip."""
    width: Positive = 112
    """Pixels (W) of the delivered clip."""
    crop: Literal["random", "centre", "random-resized"] = "random"
    """Where the H x W window lies once the frame is scaled to cover it; ``random-resized``: a part
    of the frame of random size and aspect, by ``crop_scale`` and ``crop_ratio`` of [augment], is
    scaled to H x W. Evaluation is centred."""
    flip: bool = True
    """Mirror left to right in half of the training clips."""


class Augment(Record, frozen=True, forbid_unknown_fields=True):
    """``[augment]``: random changes to training clips, off as it stands; evaluation has none."""

    crop_scale: tuple[Area, Area] = (0.08, 1.0)
    """Lowest and highest share of the frame's area that ``crop = "random-resized"`` shows; the
    ``scale`` of torchvision's RandomResizedCrop."""
    crop_ratio: tuple[Aspect, Aspect] = (0.75, 1.3333333333333333)
    """Lowest and highest width over height of that part; its ``ratio``."""
    brightness: Strength = 0.0
    """Brightness is multiplied by 1 - ``brightness`` to 1 + ``brightness``, by at least 0;
    torchvision's ColorJitter, as are the next three. All frames of a clip change alike."""
    contrast: Strength = 0.0
    """The distance from the clip's mean grey is multiplied likewise."""
    saturation: Strength = 0.0
    """The distance from a pixel's own grey is multiplied likewise."""
    hue: Annotated[float, Meta(ge=0, le=0.5)] = 0.0
    """Hue is turned by -``hue`` to ``hue`` of the whole circle."""
    erasing_probability: Share = 0.0
    """Share of the clips of which a rectangle is filled with grey; the ``p`` of torchvision's
    RandomErasing. It lies at the same place in all frames."""
    erasing_scale: tuple[Area, Area] = (0.02, 0.33)
    """Lowest and highest share of the area that is erased."""
    erasing_ratio: tuple[Aspect, Aspect] = (0.3, 3.3)
    """Lowest and highest height over width of what is erased."""
    mixup_alpha: Alpha = 0.0
    """Above 0, samples 2k and 2k + 1 are blended by a share from Beta(alpha, alpha), and so are
    their labels (mixup)."""
    cutmix_alpha: Alpha = 0.0
    """Above 0, a rectangle of samples 2k and 2k + 1 is exchanged, its share of the area about
    one from Beta(alpha, alpha), and the labels are blended (CutMix)."""
    mix_probability: Share = 1.0
    """Share of the pairs that mixup or CutMix changes."""
    cutmix_probability: Share = 0.5
    """Share of the changed pairs that CutMix takes where both are on."""


class Data(Record, frozen=True, forbid_unknown_fields=True):
    """``[data]``: which videos, which labels, what happens to the odd ones."""

    target: Literal["auto", "label", "source", "annotations"] = "auto"
    """``label``: the catalog's label; ``source``: which video a clip comes from; ``auto``: labels
    where every video has one and they are at least two, otherwise source; ``annotations``: the
    objects drawn in a pack's images, for detection and segmentation."""
    holdout: Fraction01 = 0.25
    """Last share of each video's time that is kept for evaluation; no clip crosses the border. Of
    images in a pack, that share of the images; not looked at where the catalog's rows are of
    ``train`` and ``val`` or ``test``, which decide then."""
    clips_per_video: Positive = 1
    """Training clips of each video in one epoch."""
    eval_clips_per_video: Positive = 8
    """Held-out clips of each video, spread evenly over its held-out time."""
    eval_crops: Literal[1, 3] = 1
    """Windows of each held-out clip: the middle, or first, middle and last along the free side."""
    weights: Annotated[str, Meta(pattern=r"^(equal|class-balanced|.+[.]csv)$")] = "equal"
    """How often each video is shown in an epoch, which keeps its length: ``equal``;
    ``class-balanced``: every label the same share; or in proportion to the numbers of a CSV file
    with the columns ``video`` (path or id) and ``weight``, its path absolute or from the job
    file's folder. A video of weight 0 is never trained on."""
    lookahead: Positive = 1
    """Epochs whose clips of a video are made in one visit to it, so that frames are decoded once
    for several clips; 1 makes each clip by itself. The clips are the same. Those of later epochs
    wait in ``cache``."""
    transport: Literal["rgb24", "yuv420p"] = "rgb24"
    """What clips are from the workers to the training device. ``yuv420p`` takes half the memory and
    half the bandwidth, and becomes RGB on the device, a few levels off; height and width have to be
    even, windows begin on even rows and columns, and decoded frames cannot be cached."""
    short: Literal["raise", "repeat-last", "loop"] = "repeat-last"
    """What a clip longer than its video does; counted in the report."""
    on_error: Literal["raise", "skip", "substitute"] = "substitute"
    """What a clip that cannot be decoded does. ``skip`` leaves its place in the batch masked,
    ``substitute`` takes another sample by rule; both are counted and listed."""
    error_budget: Annotated[float, Meta(ge=0, le=1)] = 0.02
    """Videos with a clip that fails, over clips seen, from which on the feed stops. Five videos may
    fail in any case; 0 stops at the first clip that fails, 1 never. Below 1 the feed also stops
    when more attempts fail than samples were seen."""


class Model(Record, frozen=True, forbid_unknown_fields=True):
    """``[model]``: what is trained."""

    factory: Annotated[str, Meta(pattern=r"^[\w.]+:[A-Za-z_]\w*$")] = (
        "filmgate.train.models:small_video_classifier"
    )
    """``module:function``; called with (job, num_classes), returns a torch.nn.Module that takes
    float frames (B, T, C, H, W), normalised, and gives logits (B, num_classes); or a
    filmgate.train.task.Task, a module with a loss and a measure of its own."""
    weights: str | None = None
    """For the factories of filmgate.train.families: a folder with weights as transformers or
    diffusers save them, its path absolute or from the job file's folder; unset: weights are drawn
    from the seed. Nothing is fetched from a hub."""
    config: dict[str, Any] = {}
    """For the same: keys of the model's own configuration, where it has no ``weights``."""


class Adapter(Record, frozen=True, forbid_unknown_fields=True):
    """``[adapter]``: whether a generator is trained as a whole or by a small addition to it."""

    method: Literal["none", "lora"] = "none"
    """``none``: every weight learns; ``lora``: low-rank matrices beside linear layers learn, the
    weights stay as they are."""
    rank: Annotated[int, Meta(ge=1, le=8192)] = 16
    """Rank of each matrix."""
    alpha: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    """What is added is scaled by alpha / rank; unset: the rank, which scales by 1."""
    targets: Literal["attention", "all-linear"] = "attention"
    """Linear layers that get an adapter: queries, keys, values and outputs of the attention, or
    all inside the blocks."""


class Generation(Record, frozen=True, forbid_unknown_fields=True):
    """``[generation]``: how a generator of video learns and is looked at."""

    objective: Literal["flow-matching", "v-prediction"] | None = None
    """What the model predicts; unset: what its family does, ``v-prediction`` for CogVideoX and
    ``flow-matching`` otherwise."""
    noise_levels: Literal["uniform", "logit-normal"] = "uniform"
    """Share of noise in a training clip: any alike, or most about one half."""
    shift: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    """Above 1, levels are moved towards noise, as large pictures want it (flow matching)."""
    prompts: str | None = None
    """CSV file with the columns ``video`` (path or id) and ``prompt``, its path absolute or from
    the job file's folder; unset: the name of each clip's class."""
    latents: str | None = None
    """Folder in which latents and text embeddings are kept by content, its path likewise; unset:
    they are computed for every step."""
    pixels_per_latent: Annotated[int, Meta(ge=1, le=32)] = 4
    """Without an autoencoder: side of the square of pixels that becomes the channels of one
    latent; the model's ``in_channels`` are 3 times its area."""
    sample_clips: Annotated[int, Meta(ge=0, le=1000)] = 4
    """Clips that are generated at the end and written as video."""
    sample_steps: Annotated[int, Meta(ge=1, le=1000)] = 20
    """Denoising steps of each."""


class Train(Record, frozen=True, forbid_unknown_fields=True):
    """``[train]``: the loop."""

    steps: Positive = 100
    """Optimizer updates."""
    batch_size: Positive = 8
    """Clips per step, over all ranks (B)."""
    learning_rate: Annotated[float, Meta(gt=0, le=1_000_000)] = 2e-3
    """Peak of ``schedule``."""
    schedule: Literal["one-cycle", "cosine", "constant"] = "one-cycle"
    """``one-cycle``: a line up to the peak, then half a cosine down; ``cosine``: the half cosine
    from the first step on; ``constant``: the line up, then the peak to the end."""
    warm_up_share: Annotated[float, Meta(ge=0, le=1)] = 0.1
    """Share of the steps in which the learning rate climbs, one step at least."""
    final_share: Annotated[float, Meta(gt=0, le=1)] = 0.01
    """Learning rate of the last step as a share of the peak."""
    weight_decay: Annotated[float, Meta(ge=0, le=1_000_000)] = 0.02
    """AdamW's decoupled decay."""
    clip_norm: Annotated[float, Meta(ge=0, le=1_000_000)] = 1.0
    """Gradients longer than this, all parameters together, are shortened to it; 0 leaves them."""
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    """What the forward pass computes in where that is safe (autocast); weights, gradients and
    optimizer stay in 32 bits. ``fp16`` scales the loss, and leaves out an update whose gradients
    overflow; it is counted."""
    accumulation: Positive = 1
    """Micro-batches that each rank makes of its part of a batch, one after another; the same
    samples and the same mean, in that much less memory for activations."""
    checkpointing: Literal["none", "block"] = "none"
    """``block``: the backward pass computes the activations inside each block of the model again
    instead of keeping them."""
    average_decay: Annotated[float, Meta(gt=0, lt=1)] | None = None
    """Decay at each step of a moving average of the weights (EMA), which evaluation then uses;
    unset: none. An average over about 1 / (1 - decay) steps."""
    compile: bool = False
    """Compile the model; the first step takes long, and figures differ in their last digits."""
    parallel: Literal["auto", "none", "ddp", "fsdp2"] = "auto"
    """What several ranks do: ``ddp``: each has the whole model; ``fsdp2``: weights, gradients and
    optimizer are divided over them; ``auto``: ``ddp``; ``none``: several are refused."""
    commit_every_steps: Positive = 25
    """A durable checkpoint after this many steps, and after the last."""
    commit_within_seconds: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    """A kill is to cost at most about this many seconds of training: a commit is begun before the
    work since the last one, with the time that the last write took, comes to more. Unset: by steps
    alone."""
    commit_folder: str | None = None
    """Where commits lie, in a folder of the run's name, its path absolute or from the job file's
    folder; unset: in the run folder."""
    commit_beside_videos: bool = False
    """Whether ``commit_folder`` may lie on the device that the videos are read from; otherwise the
    run is refused. The result records what was so."""
    commit_in_background: bool = True
    """The state is copied in memory and written beside training; otherwise training waits."""
    keep_commits: Annotated[int, Meta(ge=2, le=2_000_000_000)] = 2
    """Newest commits kept; older ones are removed once a newer one is durable."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """``auto`` takes the GPU where there is one, and the report says which it was."""


class Prepare(Record, frozen=True, forbid_unknown_fields=True):
    """``[prepare]``: whether the run makes a training copy first, and which one."""

    mode: Literal["auto", "never", "always"] = "auto"
    """``auto``: a copy is made when a short measurement says that the clips of this run pay for
    it; ``always``: one is made in any case, in the layout that is measured as the best."""
    folder: str | None = None
    """Where the copies lie, so that several runs share them, its path absolute or from the job
    file's folder; unset: in the run folder."""
    layout: Literal["temporal", "short-gop", "intra", "jpeg", "decoded"] | None = None
    """How frames depend on each other. ``temporal``: nothing refers to the frames between two
    references; ``short-gop``: key frames close together; the others: each frame by itself. Unset
    here and in ``codec``: measured."""
    codec: Literal["h264", "hevc", "av1", "mpeg4", "jpeg", "raw"] | None = None
    """What frames are compressed with; ``raw``: nothing. Unset: measured, or what suits
    ``layout``."""
    quality: Annotated[int, Meta(ge=0, le=63)] | None = None
    """CRF of h264, hevc and av1, quantiser of mpeg4 and jpeg (2 to 31); lower is better."""
    key_every: Annotated[int, Meta(ge=1, le=600)] | None = None
    """Frames from one key frame to the next; unset: 16 where frames depend on each other."""
    reference_every: Annotated[int, Meta(ge=1, le=16)] | None = None
    """Frames from one reference to the next in ``temporal``; unset: what divides the clip's
    stride."""
    short_side: Annotated[int, Meta(ge=2, le=100_000)] | None = None
    """Pixels of the copies' shorter side; pictures are never enlarged."""
    size: Annotated[str, Meta(pattern=r"^(source|[1-9][0-9]*x[1-9][0-9]*)$")] | None = None
    """``WIDTHxHEIGHT`` that copies cover, their shape kept, or ``source`` for the size they have;
    unset here and in ``short_side``: the clip's, half as large again for random-resized crops."""
    fps: Annotated[float, Meta(ge=0.0001, le=1_000_000)] | None = None
    """Frames per second of the copies, taken by the source's times; unset: every frame at its
    time."""
    interlaced: Literal["deinterlace", "weave", "leave-out"] = "deinterlace"
    """``deinterlace``: one full frame for each interlaced one (bwdif); ``weave``: both fields stay
    in it, at the source's height only; ``leave-out``: such videos are not copied."""
    hdr: Literal["keep", "leave-out"] = "keep"
    """PQ and HLG stay as they are, in 10 bits, with h264, hevc and av1; other codecs leave such
    videos out."""
    lowest_psnr_db: Annotated[float, Meta(ge=0, le=200)] = 38.0
    """A layout whose pictures are less like the scaled source than this is not chosen."""
    largest_size_share: Annotated[float, Meta(gt=0, le=1000)] = 0.7
    """Nor one that takes more than this share of the source's bytes."""


class Limits(Record, frozen=True, forbid_unknown_fields=True):
    """``[limits]``: what the run may take of the machine."""

    workers: Annotated[int, Meta(ge=0, le=1024)] | None = None
    """Feed worker processes of each rank; 0 decodes in the training process; unset: as many as the
    trainer needs, at most one for each core of this rank that training leaves. Never more than
    clips in flight."""
    cpu_budget_cores: Annotated[int, Meta(ge=1, le=1024)] | None = None
    """Cores that the feed's workers of each rank may fill; unset: those of this process, divided by
    the ranks on this machine, less ``train_threads`` (unset: 1, or 2 where training runs on the
    CPU); more as long as training waits for data."""
    prefetch_batches: Positive | None = None
    """Finished or half-filled batches kept ready; with the batch size it bounds shared memory.
    Unset: 4 or more, growing where clips come in bursts, within a quarter of the available memory
    of this machine, divided by its ranks."""
    bind_near_gpu: bool = True
    """Run the workers of a rank on the cores of the NUMA node that its GPU hangs on, where the
    machine tells it."""
    cache: Annotated[str, Meta(pattern=r"^[0-9]+([.][0-9]+)? ?([kKMGT]i?)?B?$")] | None = None
    """Memory for decoded pixels, for example ``8GB``; unset: none. It holds the clips of later
    epochs with ``lookahead``, and otherwise decoded frames for repeated use."""
    cache_folder: str | None = None
    """A folder on a local disk to hold the cache; unset: RAM."""
    train_threads: Annotated[int, Meta(ge=1, le=1024)] | None = None
    """CPU threads of the training process; unset: all cores of this process."""
    clip_deadline_seconds: Annotated[float, Meta(gt=0, le=86_400)] = 60.0
    """A clip that takes longer is abandoned, and its video left out from then on."""


class Outputs(Record, frozen=True, forbid_unknown_fields=True):
    """``[outputs]``: who else gets the run's numbers; all off, and none of them can stop a run."""

    tensorboard: bool = False
    """Event files in ``tensorboard`` of the run folder."""
    mlflow: Annotated[str, Meta(pattern=r"^https?://[^@\s]+$")] | None = None
    """Address of an MLflow server; a name and password come from MLFLOW_TRACKING_USERNAME and
    MLFLOW_TRACKING_PASSWORD. What it does not take now is sent later, once."""
    mlflow_experiment: Annotated[str, Meta(pattern=r"^[^'`]+$")] | None = None
    """Unset: the name of the job."""
    prometheus_port: Annotated[int, Meta(ge=1024, le=65535)] | None = None
    """Port of ``http://127.0.0.1:PORT/metrics`` while the run goes on; on loopback alone."""
    linger_minutes: Annotated[float, Meta(ge=0, le=100_000)] = 10.0
    """How long a process stays behind after the run for a server that does not answer; what is
    left then, ``filmgate outputs`` sends."""


class Deliverable(Record, frozen=True, forbid_unknown_fields=True):
    """``[deliverable]``: what is wanted; only planning reads it."""

    mode: Literal["train", "full", "lora", "generate"] | None = None
    """``train``: from scratch; ``full``: fine-tune every weight; ``lora``: train adapters;
    ``generate``: only make clips. Unset: ``lora`` for a generator of video, otherwise ``train``."""
    frames: Positive | None = None
    """Frames of one clip; unset: ``seconds`` times ``fps``, what the named model was made for, or
    those of [clip]."""
    seconds: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    """Length of one clip; the next frame count that the model takes holds it."""
    fps: Annotated[float, Meta(gt=0, le=1_000)] | None = None
    """Frames per second of the clip; unset: what the model was made for."""
    height: Positive | None = None
    """Pixels (H); unset: what the named model was made for, or that of [clip]."""
    width: Positive | None = None
    """Pixels (W); unset likewise."""
    variants: Positive | None = None
    """Clips that are wanted of ``generate``, all in all; unset: the plan is per clip."""


class Plan(Record, frozen=True, forbid_unknown_fields=True):
    """``[plan]``: how the job would be done; only planning reads it."""

    model: str | None = None
    """Name of a known video model, for example ``wan2.1-14b``; unset: ``factory`` of [model]."""
    lora_rank: Annotated[int, Meta(ge=1, le=8192)] | None = None
    """Rank of each adapter; unset: 64."""
    lora_targets: Literal["attention", "all-linear"] | None = None
    """Linear layers that get an adapter; unset: those of attention."""
    batch: Positive | None = None
    """Clips per GPU in one forward pass; unset: 1."""
    precision: Literal["bf16", "bf16-mixed", "fp16", "fp16-mixed", "fp32", "fp8"] | None = None
    """``bf16`` and ``fp16``: weights, gradients and optimizer in 16 bits; ``-mixed``: in 32 bits,
    computed in 16; ``fp8``: frozen weights in 8 bits; unset: ``bf16`` for ``lora`` and
    ``generate``, otherwise ``bf16-mixed``."""
    optimizer: Literal["adamw", "adamw8bit", "sgd", "adafactor"] | None = None
    """Unset: ``adamw``."""
    checkpointing: Literal["none", "block", "selective"] | None = None
    """What backward computes again; unset: ``block`` for a generator, otherwise ``none``."""
    accumulation: Positive | None = None
    """Forward passes per optimizer step; unset: 1."""
    latents_precomputed: bool | None = None
    """Latents and text embeddings come from disk; unset: yes where the model has a VAE."""
    resident: Literal["backbone", "all", "all-then-backbone", "stages"] | None = None
    """Models on the GPU at once; unset: ``backbone`` while training on latents from disk,
    ``stages`` for ``generate``, otherwise ``all``."""
    offload: Literal["none", "optimizer", "optimizer+gradients", "optimizer+weights"] | None = None
    """What waits in RAM instead of GPU memory; unset: nothing."""
    gpus: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    """GPUs of the job; unset: 1."""
    sharding: Literal["none", "ddp", "zero2", "zero3", "fsdp2"] | None = None
    """How several GPUs divide the work; unset: ``ddp`` for several, otherwise ``none``."""


class Job(Record, frozen=True, forbid_unknown_fields=True):
    """The whole job file."""

    job: About = About()
    clip: Clip = Clip(stride=2)
    augment: Augment = Augment()
    data: Data = Data()
    prepare: Prepare = Prepare()
    model: Model = Model()
    adapter: Adapter = Adapter()
    generation: Generation = Generation()
    train: Train = Train()
    limits: Limits = Limits()
    outputs: Outputs = Outputs()
    deliverable: Deliverable = Deliverable()
    plan: Plan = Plan()
