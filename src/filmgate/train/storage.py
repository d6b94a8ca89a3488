"""Weights and optimizer in a commit's files: torch.distributed.checkpoint, tensors only.

Every rank writes its own part; any number of ranks reads it back.
"""

from __future__ import annotations

import errno
import pickle
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch.distributed._state_dict_utils import _copy_state_dict, _create_cpu_state_dict
from torch.distributed.checkpoint import state_dict_loader, state_dict_saver
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata
from torch.distributed.tensor import DTensor

from filmgate.train.ranks import Ranks

TENSOR_FILES = (".distcp", ".metadata")
"""How the names of files end that ``save_tensors`` leaves in a folder."""
_METADATA_FILE = ".metadata"


class _TensorsOnly(pickle.Unpickler):
    """Reads the description of a checkpoint, which is a pickle, and nothing that could do harm."""

    def find_class(self, module: str, name: str) -> Any:
        """Raises UnpicklingError for everything but the description's own classes."""
        is_known = module == "torch.distributed.checkpoint.metadata" or (
            (module, name) in _KNOWN_NAMES
        )
        if not is_known:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a commit")
        return super().find_class(module, name)


_KNOWN_NAMES = {
    ("torch", "Size"),
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
    ("torch.serialization", "_get_layout"),
    ("collections", "OrderedDict"),
    ("pathlib", "PosixPath"),
    ("pathlib._local", "PosixPath"),
    *(("torch", str(dtype).removeprefix("torch.")) for dtype in vars(torch).values()
      if isinstance(dtype, torch.dtype)),
}  # fmt: skip


class _Reader(FileSystemReader):
    """Reads no code."""

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The description, whose tensors are read without code too."""
        with (Path(self.path) / _METADATA_FILE).open("rb") as file:
            return _read_metadata(file)


def save_tensors(folder: Path, tensors: dict[str, torch.Tensor], ranks: Ranks) -> None:
    """Write them, synced to disk; all ranks together. Raises OSError on all of them."""
    try:
        with _alone_is_fine():
            state_dict_saver.save(
                dict(tensors),
                storage_writer=FileSystemWriter(folder, sync_files=True),
                process_group=ranks.group,
                no_dist=ranks.world_size == 1,
            )
    except CheckpointException as error:
        faults = [fault for fault, _ in error.failures.values()]
        known = [fault for fault in faults if isinstance(fault, OSError)]
        # A disk that is full shows as a RuntimeError of torch's writer.
        raise (known or [OSError(errno.EIO, str(faults[0]).splitlines()[0])])[0] from None


class StateCopy:
    """A copy of the state in host memory, made once and filled again at every save.

    torch's own stager pins its copy, which takes a GPU; its parts are used here.
    """

    def __init__(self) -> None:
        self._tensors: dict[str, torch.Tensor] = {}

    def take(self, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The tensors as they are now; the copy that was given before is overwritten."""
        if self._tensors.keys() != tensors.keys():
            pins = torch.cuda.is_available()
            self._tensors = _create_cpu_state_dict(dict(tensors), pin_memory=pins)
        copied: dict[str, torch.Tensor] = _copy_state_dict(dict(tensors), self._tensors)
        return copied


def own_bytes(tensors: Mapping[str, torch.Tensor], ranks: Ranks) -> int:
    """What this rank writes of them: its part of what is divided; the rest is the first rank's."""
    divided = [tensor.to_local() for tensor in tensors.values() if isinstance(tensor, DTensor)]
    whole = [tensor for tensor in tensors.values() if not isinstance(tensor, DTensor)]
    return sum(tensor.nbytes for tensor in (divided + whole if ranks.is_first else divided))


def load_tensors(folder: Path, tensors: dict[str, torch.Tensor], ranks: Ranks) -> None:
    """Fill the tensors, each rank its part of them. Raises ValueError for others than there are."""
    found = tensor_sizes(folder)
    wanted = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    different = [name for name in {**found, **wanted} if found.get(name) != wanted.get(name)]
    if different:
        name = different[0]
        raise ValueError(
            f"{len(different)} tensors differ, such as {name}: {found.get(name)} in the commit, "
            f"{wanted.get(name)} in the model"
        )
    with _alone_is_fine():
        state_dict_loader.load(
            dict(tensors),
            storage_reader=_Reader(folder),
            process_group=ranks.group,
            no_dist=ranks.world_size == 1,
        )


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    """Name -> weight of the model in a commit, whole, however many ranks wrote it."""
    with (folder / _METADATA_FILE).open("rb") as file:
        metadata = _read_metadata(file)
    tensors = {
        name: torch.empty(entry.size, dtype=entry.properties.dtype)
        for name, entry in metadata.state_dict_metadata.items()
        if name.startswith("model/") and isinstance(entry, TensorStorageMetadata)
    }
    with _alone_is_fine():
        state_dict_loader.load(dict(tensors), storage_reader=_Reader(folder), no_dist=True)
    return {name.removeprefix("model/"): tensor for name, tensor in tensors.items()}


def tensor_sizes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Name -> shape of each tensor in a commit."""
    with (folder / _METADATA_FILE).open("rb") as file:
        metadata = _read_metadata(file)
    return {
        name: tuple(getattr(entry, "size", ()))
        for name, entry in metadata.state_dict_metadata.items()
    }


@contextmanager
def _alone_is_fine() -> Iterator[None]:
    """torch 2.13 warns of a single process even where it was told of it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled")
        yield


def _read_metadata(file: BinaryIO) -> Metadata:
    metadata = _TensorsOnly(file).load()
    assert isinstance(metadata, Metadata)
    return metadata
