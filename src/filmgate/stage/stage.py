"""``stage_videos``: the wanted part of a catalog into a hot tier, whatever is killed on the way.

Of a pack, its shards are what videos are otherwise."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from filmgate.catalog import Catalog
from filmgate.catalog.find import refuse_root
from filmgate.catalog.tiers import STAGE_ROOM
from filmgate.errors import UserError
from filmgate.pack.places import PackPlaces
from filmgate.records import Header, Record, digest_bytes, write_record
from filmgate.stage.choice import Choice, HotFile, PackSource, Wanted, choose, wanted_rows
from filmgate.stage.devices import device_warnings, nearest_folder
from filmgate.stage.evict import Eviction, evict, hot_files
from filmgate.stage.fetch import Fetched, FetchJob, fetch
from filmgate.stage.mirror import stageable_pack, write_staged_catalog
from filmgate.stage.outcome import NotHot, Staged
from filmgate.stage.pace import Meter
from filmgate.stage.pins import change_pins, read_pins
from filmgate.stage.progress import OnProgress, Teller
from filmgate.stage.verify import drop_damaged
from filmgate.units import format_bytes
from filmgate.work import Limits, LocalExecutor, Outcome, Task, do_work
from filmgate.work.lock import FolderLock
from filmgate.work.task import ROOM

STAGED_FILE = "staged.json"
FETCH_VERSION = 1
NO_DEADLINE_SECONDS = 10 * 365 * 86400.0
"""For a whole file: a transfer that moves never ends late; one that stands still is seen."""
LOCK_TRIES = 10
"""A feed that asks whether somebody stages holds the lock for an instant."""


class StageRules(Record, frozen=True, kw_only=True):
    """How videos are staged."""

    source: str | None = None
    """Folder or URL below which the videos lie by their ids; None: where the catalog says."""
    parallel: Annotated[int, Meta(ge=0)] = 4
    """Files on their way at a time, each in a process of its own; 0: one, in this process."""
    bytes_per_second: Annotated[float, Meta(gt=0)] | None = None
    """Most that all of them together ask of the source; None: no limit."""
    chunk_bytes: Annotated[int, Meta(gt=0)] = 16 << 20
    """Bytes that are asked for at once, and most that a kill loses of each file on its way."""
    stall_seconds: Annotated[float, Meta(gt=0)] = 60.0
    """A transfer of which no byte comes for so long is begun anew from its last chunk."""
    attempts: Annotated[int, Meta(ge=1)] = 5
    """Tries of a file, after several of each chunk; then it stays cold, and is listed."""
    retry_seconds: Annotated[float, Meta(ge=0)] = 5.0
    """Wait before the second try of a file; doubles with each further one."""
    evict: bool = False
    """Whether unwanted files may go where the wanted ones have no room."""
    check: bool = False
    """Whether wanted files that are hot are read whole first, and damaged ones fetched again."""
    pin: bool | None = None
    """True: what is wanted is never evicted from now on; False: it may be again."""


def stage_videos(
    catalog: Catalog,
    out: Path | str,
    wanted: Wanted | None = None,
    rules: StageRules | None = None,
    *,
    on_progress: OnProgress | None = None,
    on_warning: Callable[[str], None] | None = None,
) -> Staged:
    """Make the wanted videos hot in the folder ``out``, which becomes a catalog of all videos.

    ``out`` can be opened as a catalog as soon as the first file is on its way. A video that cannot
    be had stays cold and is listed. The same call again goes on after a kill, to the chunk.
    ``on_warning`` hears, before anything is fetched, what is odd about where the folder lies.

    Raises UserError when the folder is full, taken, or the catalog's own; when the condition or
    the source cannot be used; and when nothing of what is wanted could be staged.
    """
    rules = rules if rules is not None else StageRules()
    out = Path(out).absolute()
    if out.resolve() == catalog.path.resolve():
        raise UserError(f"{out} is the catalog itself", hint="name another folder to stage into")
    refuse_root(catalog.header.roots, out)
    wanted = wanted if wanted is not None else Wanted()
    wanted_rows(catalog, wanted.where)  # before anything is written
    since, nearest = time.monotonic(), nearest_folder(out)
    pack = stageable_pack(catalog)
    with _held(out):
        mirror = write_staged_catalog(catalog, pack, out, rules.source, rules.stall_seconds)
        staged = _Staging(
            catalog=mirror,
            pack=PackSource(pack=pack, base=PackPlaces(out).base) if pack else None,
            out=out,
            rules=rules,
            since=since,
            nearest=nearest,
            on_warning=on_warning,
        ).run(wanted, on_progress)
        write_record(out / STAGED_FILE, staged)
    if staged.failed and not staged.num_hot:
        raise UserError(
            f"none of {len(staged.failed)} files could be staged; "
            f"{staged.failed[0].video_id}: {staged.failed[0].reason}",
            hint="mend that, then start again; what has come so far is kept",
        )
    return staged


@contextmanager
def _held(out: Path) -> Iterator[None]:
    """Raises UserError when another process stages into the folder, or it cannot be written."""
    room = out / STAGE_ROOM
    try:
        room.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{out} cannot be written: {error.strerror}", hint="name another folder"
        ) from None
    for number in range(LOCK_TRIES):
        lock = FolderLock(room)
        try:
            lock.take()
            break
        except UserError:
            if number == LOCK_TRIES - 1:
                raise
            time.sleep(0.05)
    try:
        yield
    finally:
        lock.release()


@dataclass(kw_only=True)
class _Staging:
    """One start."""

    catalog: Catalog
    """The one in ``out``, whose paths are the sources."""
    pack: PackSource | None
    """The one that is staged, of a catalog of images."""
    out: Path
    rules: StageRules
    since: float
    nearest: Path
    """The folder that was there before."""
    on_warning: Callable[[str], None] | None
    warnings: list[str] = field(default_factory=list)
    fetched: list[Fetched] = field(default_factory=list)
    """By this start."""
    failed: list[NotHot] = field(default_factory=list)

    def run(self, wanted: Wanted, on_progress: OnProgress | None) -> Staged:
        """Choose, make room, check, fetch."""
        choice, eviction = self._make_room(wanted)
        self._warn(choice)
        if self.rules.pin is not None:
            names = (file.name for file in choice.files)
            change_pins(self.out, names, pin=self.rules.pin)
        num_dropped = drop_damaged(self.out, choice.files, all_of=self.rules.check)
        self._check_space(choice)
        self._fetch(choice.files, on_progress)
        return self._record(choice, eviction, num_dropped)

    def _warn(self, choice: Choice) -> None:
        sources = [file.source for file in choice.files]
        self.warnings = device_warnings(self.out, sources, self.nearest)
        tell = self.on_warning or (lambda warning: None)
        for warning in self.warnings:
            tell(warning)

    def _make_room(self, wanted: Wanted) -> tuple[Choice, Eviction]:
        """The choice that fits, once what may go has gone."""
        hot = hot_files(self.out)
        choice = choose(self.catalog, wanted, kept_bytes=0, pack=self.pack)
        names = {file.name for file in choice.files}
        unwanted = {name: size for name, size in hot.items() if name not in names}
        eviction = Eviction(num_evicted=0, bytes_evicted=0, kept=[])
        if self.rules.evict:
            needed = self._bytes_too_many(choice, wanted, unwanted, hot)
            eviction = evict(self.out, unwanted, read_pins(self.out), needed)
        kept_bytes = sum(unwanted.values()) - eviction.bytes_evicted
        return choose(self.catalog, wanted, kept_bytes=kept_bytes, pack=self.pack), eviction

    def _bytes_too_many(
        self, choice: Choice, wanted: Wanted, unwanted: dict[str, int], hot: dict[str, int]
    ) -> int:
        chosen = sum(file.size_bytes for file in choice.files)
        missing = sum(file.size_bytes for file in choice.files if file.name not in hot)
        too_many = missing - _free_bytes(self.out)
        if wanted.budget_bytes is not None:
            too_many = max(too_many, sum(unwanted.values()) + chosen - wanted.budget_bytes)
        return max(0, too_many)

    def _check_space(self, choice: Choice) -> None:
        """Raises UserError when the disk cannot take it."""
        hot = hot_files(self.out)
        missing = sum(file.size_bytes for file in choice.files if file.name not in hot)
        set_aside = sum(
            path.stat().st_blocks * 512
            for path in (self.out / ROOM / "places").glob("*/files/**/*")
            if path.is_file()
        )
        free = _free_bytes(self.out)
        if missing - set_aside > free:
            raise UserError(
                f"{self.out} has {format_bytes(free)} free, and {format_bytes(missing)} are wanted",
                hint="set a budget, choose fewer videos, or let unwanted ones be evicted",
            )

    def _fetch(self, files: list[HotFile], on_progress: OnProgress | None) -> None:
        meter = Meter(self.out / STAGE_ROOM / "meter", self.rules.bytes_per_second)
        meter.reset()
        work = do_work(
            fetch,
            [self._task(file) for file in files],
            self.out,
            row=Fetched,
            executor=LocalExecutor(self.rules.parallel),
            limits=Limits(
                deadline_seconds=NO_DEADLINE_SECONDS,
                attempts=self.rules.attempts,
                retry_seconds=self.rules.retry_seconds,
            ),
            retry_quarantined=True,
        )
        sizes = [file.size_bytes for file in files]
        with Teller(meter, sizes, on_progress) as teller:
            for outcome in work:
                self._take(outcome, teller)

    def _take(self, outcome: Outcome[FetchJob, Fetched], teller: Teller) -> None:
        row = outcome.row
        if row is not None and not outcome.reused:
            self.fetched.append(row)
        if row is None:
            failed = NotHot(
                video_id=outcome.task.name,
                source=outcome.task.payload.source,
                reason=outcome.fault or "",
            )
            self.failed.append(failed)
        bytes_fetched = row.bytes_fetched if row is not None and not outcome.reused else 0
        teller.settle(outcome.task.size_bytes if row is not None else 0, bytes_fetched)

    def _task(self, file: HotFile) -> Task[FetchJob]:
        text = f"stage\0{FETCH_VERSION}\0{file.content_digest}\0{file.name}"
        return Task(
            key=digest_bytes(text.encode()),
            name=file.title,
            payload=FetchJob(
                source=file.source,
                content_digest=file.content_digest,
                size_bytes=file.size_bytes,
                mtime_ns=file.mtime_ns,
                output=file.name,
                chunk_bytes=self.rules.chunk_bytes,
                stall_seconds=self.rules.stall_seconds,
                meter=self.out / STAGE_ROOM / "meter",
                bytes_per_second=self.rules.bytes_per_second,
            ),
            outputs=(file.name,),
            size_bytes=file.size_bytes,
            resumable=True,
        )

    def _record(self, choice: Choice, eviction: Eviction, num_dropped: int) -> Staged:
        hot = hot_files(self.out)
        are_hot = [file for file in choice.files if file.name in hot]
        meter = Meter(self.out / STAGE_ROOM / "meter")
        return Staged(
            header=Header(
                schema="filmgate.staged", schema_version=1, inputs={"catalog": self.catalog.digest}
            ),
            folder=str(self.out),
            catalog_digest=self.catalog.digest,
            num_videos=self.catalog.num_videos,
            num_hot=len(are_hot),
            num_sharing=choice.num_sharing,
            warnings=self.warnings,
            bytes_hot=sum(file.size_bytes for file in are_hot),
            num_staged=len(self.fetched),
            bytes_fetched=meter.num_bytes,
            num_over_budget=len(choice.over_budget),
            bytes_over_budget=sum(file.size_bytes for file in choice.over_budget),
            num_not_selected=choice.num_not_selected,
            num_never_shown=choice.num_never_shown,
            failed=self.failed,
            num_damaged_chunks=sum(one.num_damaged for one in self.fetched),
            num_dropped=num_dropped,
            num_evicted=eviction.num_evicted,
            bytes_evicted=eviction.bytes_evicted,
            kept=eviction.kept,
            seconds=time.monotonic() - self.since,
        )


def _free_bytes(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize
