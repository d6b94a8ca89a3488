"""An object in a store: S3 and what speaks its language, Google Cloud Storage, Azure, HTTP.

Endpoint and credentials come from the environment, in the names that each store's own tools use
(``AWS_ENDPOINT_URL``, ``AWS_ACCESS_KEY_ID``, ...). Nothing of them is written anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import (
    BaseError,
    InvalidPathError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
    UnknownConfigurationKeyError,
)
from obstore.store import from_url

from filmgate.errors import UserError
from filmgate.stage.source import Identity, SourceChanged

if TYPE_CHECKING:  # obstore has these for type checkers only
    from obstore import GetOptions, ObjectMeta
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

STREAM_BYTES = 64 * 1024
"""Pieces as small as that, so that a slow transfer is seen to move."""
NO_LIMIT = timedelta(days=3650)
"""For a whole request: only standing still ends it."""
CREDENTIALS = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SKIP_SIGNATURE",
           "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
           "AWS_METADATA_ENDPOINT"),
    "gs": ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT",
           "GOOGLE_SERVICE_ACCOUNT_KEY", "GOOGLE_SKIP_SIGNATURE"),
    "az": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_TOKEN",
           "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_MSI_ENDPOINT",
           "AZURE_SKIP_SIGNATURE"),
}  # fmt: skip
"""Scheme -> variables of which one has to be set. Without any, the client would ask the machine's
metadata service for credentials: a connection that nobody configured."""
CREDENTIALS_HINT = (
    "credentials and endpoint come from the environment, for S3: AWS_ACCESS_KEY_ID, "
    "AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL, AWS_REGION"
)


class ObjectSource:
    """One object, by its URL."""

    def __init__(self, url: str, stall_seconds: float) -> None:
        folder, _, self._key = url.rpartition("/")
        self._url = url
        self._store = _open_store(folder, stall_seconds)

    def identity(self) -> Identity:
        """From a HEAD request."""
        with _as_ours(self._url):
            return _identity_of(obstore.head(self._store, self._key))

    def read(self, identity: Identity, start: int, stop: int) -> Iterator[bytes]:
        """The range, asked for under the condition that the object is still the same."""
        etag = identity.version.partition(" ")[2]
        options: GetOptions = {"range": (start, stop)}
        if etag:
            options["if_match"] = etag
        with _as_ours(self._url):
            result = obstore.get(self._store, self._key, options=options)
            if _identity_of(result.meta) != identity or result.range != (start, stop):
                raise SourceChanged
            for piece in result.stream(min_chunk_size=STREAM_BYTES):
                start += len(piece)
                yield bytes(piece)
        if start != stop:
            raise ConnectionError(f"{self._url}: the answer ended {stop - start} bytes early")


def _open_store(folder: str, stall_seconds: float) -> ObjectStore:
    _refuse_without_credentials(folder)
    client: ClientConfig = {
        "timeout": NO_LIMIT,
        "read_timeout": timedelta(seconds=stall_seconds),
        "connect_timeout": timedelta(seconds=min(stall_seconds, 30.0)),
        "allow_http": True,  # which it is only where the endpoint is written so
    }
    # What fails is tried again, and counted, by the list of work.
    retry: RetryConfig = {"max_retries": 1, "retry_timeout": timedelta(seconds=stall_seconds)}
    try:
        store: ObjectStore = from_url(folder, client_options=client, retry_config=retry)
    except (BaseError, ValueError) as error:
        raise UserError(
            f"{folder} is no object store that can be opened: {_first_line(error)}",
            hint=f"write it like s3://bucket/folder; {CREDENTIALS_HINT}",
        ) from None
    return store


def _refuse_without_credentials(folder: str) -> None:
    scheme = folder.partition("://")[0].removesuffix("a")
    names = CREDENTIALS.get(scheme, ())
    if names and not any(os.environ.get(name) for name in names):
        raise UserError(
            f"{folder}: there are no credentials for it",
            hint=f"set one of {', '.join(names)}; a public one needs {_public(names)}=true",
        )


def _public(names: tuple[str, ...]) -> str:
    return next(name for name in names if name.endswith("SKIP_SIGNATURE"))


@contextmanager
def _as_ours(url: str) -> Iterator[None]:
    """Raises what the list of work knows: SourceChanged, UserError, OSError, ConnectionError."""
    try:
        yield
    except PreconditionError:
        raise SourceChanged from None
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise UserError(
            f"{url}: access denied: {_first_line(error)}", hint=CREDENTIALS_HINT
        ) from None
    except (InvalidPathError, UnknownConfigurationKeyError) as error:
        raise UserError(f"{url}: {_first_line(error)}", hint=CREDENTIALS_HINT) from None
    except FileNotFoundError:
        raise FileNotFoundError(2, "it is not in the store", url) from None
    except BaseError as error:
        raise ConnectionError(f"{url}: {_first_line(error)}") from None


def _identity_of(meta: ObjectMeta) -> Identity:
    etag = meta["e_tag"] or ""
    version = meta["version"] or ("" if etag else meta["last_modified"].isoformat())
    return Identity(size_bytes=meta["size"], version=f"{version} {etag}")


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split("\n\nDebug source")[0].split())[:300]
