"""Servers on the loopback interface: real protocols, each request recorded, faults on demand.

`serve_http` serves files, `serve_s3` and `serve_gcs` the object stores of moto and of
gcp-storage-emulator behind a `Proxy`, which can be put in front of any other server too. What
they yield is a `Server`: it has a URL, the requests it got, and the faults it is to show.
`DelayingStore` does without a network: it tells how many requests had to wait for one another.
"""

import asyncio
import http.client
import inspect
import math
import re
import socket
import sys
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from email.message import Message
from functools import partial, wraps
from html import escape
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from socketserver import BaseServer
from typing import Any, Self, TypeAlias
from urllib.parse import parse_qs, quote, unquote, urlsplit

from zarr.abc.store import Store

from zarr_xgroup.metadata.documents import METADATA_KEYS
from zarr_xgroup.tests.builders import Contents, RecordingStore, to_json

LOOPBACK = "127.0.0.1"

#: Headers that are about one connection (RFC 9110, section 7.6.1), or that a proxy sets anew.
HOP_BY_HOP = frozenset(
    {"connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding"}
)


# Requests, responses and faults.


@dataclass(frozen=True)
class Request:
    """A request as a server got it; its target is path and query as they were sent."""

    method: str
    target: str
    headers: Message = field(default_factory=Message, repr=False)

    @property
    def path(self) -> str:
        """Its path without quoting."""
        return unquote(self.target.partition("?")[0])


@dataclass(frozen=True)
class Response:
    """What a server answers."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None  # what Content-Length says, if not the length of the body
    endless: bool = False  # the body is sent again and again until the client closes the connection

    @property
    def content_length(self) -> int:
        return len(self.body) if self.length is None else self.length


@dataclass
class Fault:
    """What happens to a request instead of, or to, its proper response."""

    # What is answered instead, with status 200 if only a body is given.
    status: int | None = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    truncate: int = 0  # how many bytes of the body are missing that Content-Length counts
    delay: float = 0  # seconds before the answer begins; infinite for one that never comes
    endless: bool = False  # the body is sent again and again


def stall() -> Fault:
    """Return the fault of never answering."""
    return Fault(delay=math.inf)


def patiently(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test with its argument `timeout`: a short time, and longer ones if it fails.

    How long other stores take beside one that never answers depends on what else the machine does.
    """

    @wraps(test)
    def run(**fixtures: Any) -> None:
        with suppress(Exception):
            return test(timeout=1.0, **fixtures)
        return test(timeout=60.0, **fixtures)

    signature = inspect.signature(test)
    others = [item for name, item in signature.parameters.items() if name != "timeout"]
    run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
    return run


def redirect(location: str, *, status: int = 302) -> Fault:
    """Return the fault of sending elsewhere: a URL, or a path of the same server."""
    return Fault(status=status, headers={"Location": location})


def is_listing(request: Request) -> bool:
    """Return whether a request lists a bucket, of S3 or Google Cloud Storage."""
    fields = parse_qs(request.target.partition("?")[2], keep_blank_values=True)
    return request.method == "GET" and not {"list-type", "delimiter", "prefix"}.isdisjoint(fields)


#: Where a fault is shown: at paths that end so, at all (`"*"`), or at requests it is true for.
Where: TypeAlias = str | Callable[[Request], bool]


def _is_at(where: Where, request: Request) -> bool:
    if callable(where):
        return where(request)
    return where == "*" or request.path.endswith(where)


# Serving.


@contextmanager
def _running(server: BaseServer) -> Iterator[None]:
    """Let a server answer in a thread; afterwards none of its threads is left."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Turns the bytes of a connection into requests, and responses into bytes."""

    protocol_version = "HTTP/1.1"
    # Headers and body are sent at once: a second small packet would wait for the first's ACK.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: "_Listener"

    def _handle(self) -> None:
        request = Request(self.command, self.path, self.headers)
        response = self.server.answer(request)
        if response is None:
            self.close_connection = True
            return
        self.send_response_only(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if response.status not in (204, 304) and not response.endless:
            self.send_header("Content-Length", str(response.content_length))
        is_truncated = len(response.body) < response.content_length
        if self.command != "HEAD" and (is_truncated or response.endless):
            self.send_header("Connection", "close")  # sets close_connection
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)
        while response.endless and self.command != "HEAD":
            self.wfile.write(response.body)
            self.server.sent += len(response.body)

    do_GET = do_HEAD = _handle  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Listener(ThreadingHTTPServer):
    """Accepts connections, and can end those that clients keep open."""

    daemon_threads = False  # closing then waits for them
    request_queue_size = 128  # a client that is not accepted at once waits for a second

    def __init__(self, answer: Callable[[Request], Response | None], host: str) -> None:
        super().__init__((host, 0), _Handler)
        self.answer = answer
        self.sent = 0  # bytes of endless bodies
        self.connections: set[Any] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let clients go away; other errors are those of the tests, and must be seen."""
        if not isinstance(sys.exception(), OSError):
            raise  # noqa: PLE0704


class Server(ABC):
    """A server on an ephemeral port; use it as a context manager."""

    def __init__(self, host: str = LOOPBACK) -> None:
        self.requests: list[Request] = []  # in the order they came
        self.faults: dict[Where, Fault] = {}  # the first one that applies is shown
        self._released = threading.Event()
        self._listener = _Listener(self._answer, host)
        self._running = _running(self._listener)
        self.url = f"http://{host}:{self._listener.server_address[1]}"

    def __enter__(self) -> Self:
        self._running.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._released.set()
        self._running.__exit__(None, None, None)

    @abstractmethod
    def respond(self, request: Request) -> Response:
        """Return the proper response."""

    @property
    def endless_bytes(self) -> int:
        """How many bytes of bodies without an end were sent."""
        return self._listener.sent

    def reset(self) -> None:
        """Forget all requests and faults, and let go of those that are held."""
        released, self._released = self._released, threading.Event()
        self.faults.clear()
        self.requests.clear()
        released.set()

    def paths(self, *methods: str) -> list[str]:
        """Return the path of each request, or of those by some methods."""
        return [item.path for item in self.requests if not methods or item.method in methods]

    def _answer(self, request: Request) -> Response | None:
        """Return what is answered; None if the connection is to be closed."""
        self.requests.append(request)
        released = self._released
        matching = (fault for where, fault in [*self.faults.items()] if _is_at(where, request))
        fault = next(matching, None)
        if fault is None:
            return self.respond(request)
        if fault.delay and released.wait(None if fault.delay == math.inf else fault.delay):
            return None
        if fault.status is None and fault.body is None:
            response = self.respond(request)
        else:
            response = Response(fault.status or 200, fault.body or b"", fault.headers)
        if fault.endless:
            return replace(response, endless=True)
        if not fault.truncate:
            return response
        part = response.body[: -fault.truncate]
        return replace(response, body=part, length=response.content_length)


class Proxy(Server):
    """A server in front of another one, `upstream`: its URL without a path."""

    def __init__(self, upstream: str) -> None:
        super().__init__()
        self.upstream = upstream

    def respond(self, request: Request) -> Response:
        try:
            return _forward(self.upstream, request)
        except OSError as error:
            return Response(502, str(error).encode())


def _forward(upstream: str, request: Request, body: bytes = b"") -> Response:
    parts = urlsplit(upstream)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        # The server makes URLs of the Host that the client asked.
        has_host = "Host" in request.headers
        connection.putrequest(
            request.method, request.target, skip_host=has_host, skip_accept_encoding=True
        )
        for name, value in request.headers.items():
            if name.lower() not in HOP_BY_HOP:
                connection.putheader(name, value)
        connection.putheader("Connection", "close")
        if request.method == "POST":
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        with connection.getresponse() as response:
            content, headers = response.read(), dict(response.getheaders())
            headers = {k: it for k, it in headers.items() if k.lower() not in HOP_BY_HOP}
            length = response.getheader("Content-Length") if request.method == "HEAD" else None
            return Response(response.status, content, headers, int(length) if length else None)
    finally:
        connection.close()


# Files.


class FileServer(Server):
    """A server of files, by their paths below the URL, and of parts of them.

    Folders are listed as HTML pages of links with `listing`, else they are forbidden.
    """

    def __init__(self, contents: Contents, *, listing: bool = False, host: str = LOOPBACK) -> None:
        super().__init__(host)
        self.contents = contents
        self.listing = listing

    def respond(self, request: Request) -> Response:
        key = request.path.removeprefix("/")
        content = self.contents.get(key)
        if content is not None:
            return _file_response(content, request.headers.get("Range", ""))
        prefix = f"{key.strip('/')}/" if key.strip("/") else ""
        members = [
            other.removeprefix(prefix) for other in self.contents if other.startswith(prefix)
        ]
        if not members:
            return Response(404, b"not found")
        if not self.listing:
            return Response(403, b"no listing")
        return _index_response(members)


def _file_response(content: bytes, asked: str) -> Response:
    headers = {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
    part = re.fullmatch(r"bytes=(\d*)-(\d*)", asked)
    if part is None or not any(part.groups()):
        return Response(200, content, headers)
    first, last = part.groups()
    start = int(first) if first else max(0, len(content) - int(last))
    stop = min(len(content), int(last) + 1) if first and last else len(content)
    if start >= stop:
        return Response(416, b"", {"Content-Range": f"bytes */{len(content)}"})
    place = {"Content-Range": f"bytes {start}-{stop - 1}/{len(content)}"}
    return Response(206, content[start:stop], {**headers, **place})


def _index_response(members: Iterable[str]) -> Response:
    names = sorted({name + slash for name, slash, _rest in (key.partition("/") for key in members)})
    links = (f'<li><a href="{quote(name)}">{escape(name)}</a></li>' for name in names)
    page = f"<!DOCTYPE html><html><body><ul>{''.join(links)}</ul></body></html>"
    return Response(200, page.encode(), {"Content-Type": "text/html; charset=utf-8"})


def serve_http(contents: Contents, *, listing: bool = False, host: str = LOOPBACK) -> FileServer:
    """Serve files over HTTP; see `FileServer`."""
    return FileServer(contents, listing=listing, host=host)


# Object stores.


class S3Server(Proxy):
    """A server of S3, with any number of buckets; give its options to s3fs, or ask for a store."""

    region = "us-east-1"
    key = "key"
    secret = "secret"

    @property
    def options(self) -> dict[str, Any]:
        """What s3fs needs to sign requests."""
        client = {"endpoint_url": self.url, "region_name": self.region}
        return {"key": self.key, "secret": self.secret, "client_kwargs": client}

    def upload(self, bucket: str, contents: Contents, *, public: bool = False) -> str:
        """Add objects to a bucket, which is made if need be, and return its URL.

        Anyone may read public objects; requests for others must be signed. Anyone may list any
        bucket, as moto does not check that: a fault can forbid it.
        """
        import boto3

        acl = "public-read" if public else "private"
        client = boto3.client(
            "s3",
            endpoint_url=self.upstream,
            region_name=self.region,
            aws_access_key_id=self.key,
            aws_secret_access_key=self.secret,
        )
        try:
            client.create_bucket(Bucket=bucket, ACL=acl)
            for key, content in contents.items():
                client.put_object(Bucket=bucket, Key=key, Body=content, ACL=acl)
        finally:
            client.close()
        return f"s3://{bucket}"

    def object_store(self, bucket: str) -> Any:
        """Return an obstore store of a bucket."""
        from obstore.store import S3Store

        return S3Store(
            bucket,
            endpoint=self.url,
            region=self.region,
            access_key_id=self.key,
            secret_access_key=self.secret,
            client_options={"allow_http": True},
        )


@contextmanager
def serve_s3() -> Iterator[S3Server]:
    """Serve an empty S3 by moto. Only one at a time: moto's servers share what they store."""
    from moto.moto_server.werkzeug_app import (
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import make_server

    class QuietHandler(MotoRequestHandler):
        def log(self, type: str, message: str, *args: Any) -> None:
            pass

    application = DomainDispatcherApplication(create_backend_app)
    server: Any = make_server(LOOPBACK, 0, application, threaded=True, request_handler=QuietHandler)
    server.daemon_threads = False  # closing then waits for them
    with _running(server), S3Server(f"http://{LOOPBACK}:{server.server_port}") as proxy:
        try:
            yield proxy
        finally:
            _forward(proxy.upstream, Request("POST", "/moto-api/reset"))


class GCSServer(Proxy):
    """A server of Google Cloud Storage, with any number of buckets, all of them public."""

    @property
    def options(self) -> dict[str, Any]:
        """What gcsfs needs."""
        return {"token": "anon", "endpoint_url": self.url, "project": "test"}

    def upload(self, bucket: str, contents: Contents) -> str:
        """Add objects to a bucket, which is made if need be, and return its URL."""
        self._post("/storage/v1/b", to_json({"name": bucket}), "application/json", allowed=409)
        for key, content in contents.items():
            query = f"uploadType=media&name={quote(key, safe='')}"
            target = f"/upload/storage/v1/b/{bucket}/o?{query}"
            self._post(target, content, "application/octet-stream")
        return f"gs://{bucket}"

    def _post(self, target: str, body: bytes, content_type: str, *, allowed: int = 200) -> None:
        headers = Message()
        headers["Host"] = urlsplit(self.url).netloc
        headers["Content-Type"] = content_type
        response = _forward(self.upstream, Request("POST", target, headers), body)
        assert response.status in (200, allowed), response


@contextmanager
def serve_gcs() -> Iterator[GCSServer]:
    """Serve an empty Google Cloud Storage by gcp-storage-emulator, in memory."""
    from gcp_storage_emulator.server import RequestHandler
    from gcp_storage_emulator.storage import Storage

    class Emulator(HTTPServer):
        # No threads: its storage has no locks.
        request_queue_size = 128

    handler = partial(RequestHandler, Storage(use_memory_fs=True))
    server = Emulator((LOOPBACK, 0), handler)
    with _running(server), GCSServer(f"http://{LOOPBACK}:{server.server_address[1]}") as proxy:
        yield proxy


# A store that tells how long its requests wait for one another.


@dataclass
class RequestLog:
    """What was asked of a store, and how many rounds of requests that took.

    A round is however many requests made at once; the rounds are the longest chain of requests each of which
    began after the one before it had ended.
    """

    #: The operation and the key, or prefix, of each request in order.
    requests: list[tuple[str, str]] = field(default_factory=list)
    rounds: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    _ended: int = 0
    _wave: asyncio.Event | None = None

    @contextmanager
    def request(self, operation: str, *keys: str) -> Iterator[None]:
        """Record requests that are made at once, from now to the end of the context."""
        self.requests += [(operation, key) for key in keys]
        current = self._ended + 1
        self.rounds = max(self.rounds, current)
        self.in_flight += len(keys)
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            yield
        finally:
            self.in_flight -= len(keys)
            self._ended = max(self._ended, current)

    async def wait(self, delay: float) -> None:
        """Wait a time, and longer while requests begin, together with all that began meanwhile."""
        if self._wave is not None:
            await self._wave.wait()
            return
        wave = self._wave = asyncio.Event()
        try:
            known = 0
            while known != len(self.requests):  # those made at once need not be quick
                known = len(self.requests)
                await asyncio.sleep(delay)
        finally:
            self._wave = None
            wave.set()

    def clear(self) -> None:
        """Forget all requests; none may be waiting."""
        self.requests.clear()
        self.rounds = self._ended = self.most_in_flight = 0


def _kind(operation: str, key: str) -> str:
    """Return what a request asks for: a document, a chunk, or else what it does."""
    if not operation.startswith("get"):
        return operation
    return "document" if key.rpartition("/")[2] in METADATA_KEYS else "chunk"


class DelayingStore(RecordingStore):
    """A recording store each request to which takes some seconds, as over a network.

    It takes them as often as others begin in that time: those made at once wait together, however slow the
    machine is. Its copies, as zarr makes read-only ones, share its log.
    """

    def __init__(self, store: Store, delay: float = 0) -> None:
        super().__init__(store)
        self.delay = delay
        self.log = RequestLog()

    @property
    def requests(self) -> list[tuple[str, str]]:
        return self.log.requests

    @property
    def rounds(self) -> int:
        return self.log.rounds

    @property
    def counts(self) -> dict[str, int]:
        """How many documents and chunks were asked for, and how many other requests there were."""
        return dict(Counter(_kind(*request) for request in self.requests))

    # Not all versions of zarr make copies by _with_store, or compare what is wrapped.

    def with_read_only(self, read_only: bool = False) -> Self:
        return self._with_store(self._store.with_read_only(read_only))

    def __enter__(self) -> Self:
        return self._with_store(self._store.__enter__())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DelayingStore) and self._store == other._store

    __hash__ = None  # type: ignore[assignment]

    @asynccontextmanager
    async def _request(self, operation: str, *keys: str) -> AsyncIterator[None]:
        with self.log.request(operation, *keys):
            await self.log.wait(self.delay)
            async with super()._request(operation, *keys):
                yield
