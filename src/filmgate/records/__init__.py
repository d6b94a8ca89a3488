"""What every artifact carries: a header, digests of its inputs, and safe ways to write a file."""

from filmgate.records.base import Header, Record
from filmgate.records.digest import digest_bytes, digest_file
from filmgate.records.files import read_record, write_file, write_record

__all__ = [
    "Header",
    "Record",
    "digest_bytes",
    "digest_file",
    "read_record",
    "write_file",
    "write_record",
]
