"""Servers on the loopback interface that use real protocols, record requests and simulate faults.

`serve_http` serves files. `serve_s3` and `serve_gcs` serve the object stores of moto and
gcp-storage-emulator through a `Proxy`, which works with any other server, too. Each yields a `Server`
with a URL, the recorded requests, and the faults to simulate. `DelayingStore` needs no network: it
counts the rounds of requests that had to wait for earlier ones.
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

#: Headers of a single connection (RFC 9110, section 7.6.1), or that a proxy replaces.
HOP_BY_HOP = frozenset(
    {"connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding"}
)


# Requests, responses and faults.


@dataclass(frozen=True)
class Request:
    """A request to a server. Its target is the path and query, unchanged."""

    method: str
    target: str
    headers: Message = field(default_factory=Message, repr=False)

    @property
    def path(self) -> str:
        """The unquoted path."""
        return unquote(self.target.partition("?")[0])


@dataclass(frozen=True)
class Response:
    """The response of a server."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None  # Content-Length, if it differs from the length of the body
    endless: bool = False  # the body is sent again and again until the client closes the connection

    @property
    def content_length(self) -> int:
        return len(self.body) if self.length is None else self.length


@dataclass
class Fault:
    """A fault: another response to a request, or a change to the normal response."""

    # The other response, with status 200 if there is only a body.
    status: int | None = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    truncate: int = 0  # number of bytes missing at the end of the body
    delay: float = 0  # seconds before the response begins; infinite for no response
    endless: bool = False  # the body is sent again and again
    drop: bool = False  # the connection is closed without a response


def stall() -> Fault:
    """Return the fault of a server that never responds."""
    return Fault(delay=math.inf)


def patiently(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test with a short `timeout`, and with a longer one if it fails.

    The time that other stores take depends on the load of the machine.
    """

    @wraps(test)
    def run(**fixtures: Any) -> None:
        with suppress(Exception):
            return test(timeout=1.0, **fixtures)
        return test(timeout=60.0, **fixtures)

    signature = inspect.signature(test)
    fixtures = [item for name, item in signature.parameters.items() if name != "timeout"]
    run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
    return run


def redirect(location: str, *, status: int = 302) -> Fault:
    """Return the fault of a redirect to a URL, or to a path of the same server."""
    return Fault(status=status, headers={"Location": location})


def is_listing(request: Request) -> bool:
    """Return whether a request lists a bucket of S3 or Google Cloud Storage."""
    fields = parse_qs(request.target.partition("?")[2], keep_blank_values=True)
    return request.method == "GET" and not {"list-type", "delimiter", "prefix"}.isdisjoint(fields)


#: The requests with a fault: to paths with this ending, all (`"*"`), or those for which it returns True.
Where: TypeAlias = str | Callable[[Request], bool]


def _is_at(where: Where, request: Request) -> bool:
    if callable(where):
        return where(request)
    return where == "*" or request.path.endswith(where)


class Waves:
    """Holds requests until no further ones arrive for some seconds, and then answers them together.

    The number of waves is the number of rounds: the requests of a wave did not wait for each other.
    """

    def __init__(self, pause: float) -> None:
        self.pause = pause
        self.count = 0
        self._arrived = 0
        self._changed = threading.Condition()

    def wait(self) -> None:
        """Wait until the wave of this request ends."""
        with self._changed:
            self._arrived += 1
            wave, known = self.count, -1
            while self.count == wave:
                if known == self._arrived:  # none has arrived during a pause
                    self.count += 1
                    self._changed.notify_all()
                    return
                known = self._arrived
                self._changed.wait(self.pause)


# Serving.


@contextmanager
def _running(server: BaseServer) -> Iterator[None]:
    """Run a server in a thread, and end all its threads afterwards."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Decodes requests and encodes responses."""

    protocol_version = "HTTP/1.1"
    # Send headers and body together: a second small packet would wait for the ACK of the first.
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
    """Accepts connections, and can close those that clients keep open."""

    daemon_threads = False  # so that closing waits for them
    request_queue_size = 128  # a client that is not accepted immediately waits for a second

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
        """Ignore closed connections. Raise other errors, which are errors of the tests."""
        if not isinstance(sys.exception(), OSError):
            raise  # noqa: PLE0704


class Server(ABC):
    """A server on an ephemeral port; use it as a context manager."""

    def __init__(self, host: str = LOOPBACK) -> None:
        self.requests: list[Request] = []  # in order of arrival
        self.faults: dict[Where, Fault] = {}  # the first match is used
        self.waves: Waves | None = None
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
        """Return the normal response."""

    @property
    def endless_bytes(self) -> int:
        """The number of bytes sent of endless bodies."""
        return self._listener.sent

    def reset(self) -> None:
        """Clear all requests and faults, and release delayed requests."""
        released, self._released = self._released, threading.Event()
        self.faults.clear()
        self.requests.clear()
        released.set()

    def paths(self, *methods: str) -> list[str]:
        """Return the path of each request, or of each request with one of the methods."""
        return [item.path for item in self.requests if not methods or item.method in methods]

    def _answer(self, request: Request) -> Response | None:
        """Return the response, or None to close the connection."""
        self.requests.append(request)
        if self.waves is not None:
            self.waves.wait()
        released = self._released
        matching = (fault for where, fault in [*self.faults.items()] if _is_at(where, request))
        fault = next(matching, None)
        if fault is None:
            return self.respond(request)
        if fault.drop:
            return None
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
    """A server that forwards requests to `upstream`, the URL of a server without a path."""

    def __init__(self, upstream: str) -> None:
        super().__init__()
        self.upstream = upstream

    def respond(self, request: Request) -> Response:
        try:
            return _forward(self.upstream, request)
        except OSError as error:
            return Response(502, str(error).encode())


class HTTPProxy(Server):
    """A proxy for HTTP: clients send it requests with a whole URL as the target."""

    def respond(self, request: Request) -> Response:
        url = urlsplit(request.target)
        return _forward(f"{url.scheme}://{url.netloc}", replace(request, target=url.path))


def _forward(upstream: str, request: Request, body: bytes = b"") -> Response:
    parts = urlsplit(upstream)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        # The server makes URLs from the Host header of the client.
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
            headers = {k: v for k, v in headers.items() if k.lower() not in HOP_BY_HOP}
            length = response.getheader("Content-Length") if request.method == "HEAD" else None
            return Response(response.status, content, headers, int(length) if length else None)
    finally:
        connection.close()


# Files.


class FileServer(Server):
    """A server of files and byte ranges.

    With `listing`, a folder is an HTML page of links. Otherwise it is forbidden.
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


def _file_response(content: bytes, requested_range: str) -> Response:
    headers = {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
    part = re.fullmatch(r"bytes=(\d*)-(\d*)", requested_range)
    if part is None or not any(part.groups()):
        return Response(200, content, headers)
    first, last = part.groups()
    start = int(first) if first else max(0, len(content) - int(last))
    stop = min(len(content), int(last) + 1) if first and last else len(content)
    if start >= stop:
        return Response(416, b"", {"Content-Range": f"bytes */{len(content)}"})
    content_range = {"Content-Range": f"bytes {start}-{stop - 1}/{len(content)}"}
    return Response(206, content[start:stop], {**headers, **content_range})


def _index_response(members: Iterable[str]) -> Response:
    names = sorted({name + slash for name, slash, _rest in (key.partition("/") for key in members)})
    links = (f'<li><a href="{quote(name)}">{escape(name)}</a></li>' for name in names)
    page = f"<!DOCTYPE html><html><body><ul>{''.join(links)}</ul></body></html>"
    return Response(200, page.encode(), {"Content-Type": "text/html; charset=utf-8"})


def serve_http(contents: Contents, *, listing: bool = False, host: str = LOOPBACK) -> FileServer:
    """Return a server of files over HTTP; see `FileServer`."""
    return FileServer(contents, listing=listing, host=host)


# Object stores.


class S3Server(Proxy):
    """A server of S3. Use it with s3fs and its `options`, or with `object_store`."""

    region = "us-east-1"
    key = "key"
    secret = "secret"

    @property
    def options(self) -> dict[str, Any]:
        """The options with which s3fs signs requests."""
        client = {"endpoint_url": self.url, "region_name": self.region}
        return {"key": self.key, "secret": self.secret, "client_kwargs": client}

    def upload(self, bucket: str, contents: Contents, *, public: bool = False) -> str:
        """Add objects to a bucket, create it if necessary, and return its URL.

        Requests for private objects must be signed. Anyone can list a bucket, because moto does
        not check this; use a fault to forbid it.
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

    def object_store(self, bucket: str, **options: Any) -> Any:
        """Return an obstore store of a bucket."""
        from obstore.store import S3Store

        return S3Store(
            bucket,
            **options,
            endpoint=self.url,
            region=self.region,
            access_key_id=self.key,
            secret_access_key=self.secret,
            client_options={"allow_http": True},
        )


@contextmanager
def serve_s3() -> Iterator[S3Server]:
    """Serve an empty S3 with moto. Only one at a time, because moto's servers share their objects."""
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
    server.daemon_threads = False  # so that closing waits for them
    with _running(server), S3Server(f"http://{LOOPBACK}:{server.server_port}") as proxy:
        try:
            yield proxy
        finally:
            _forward(proxy.upstream, Request("POST", "/moto-api/reset"))


class GCSServer(Proxy):
    """A server of Google Cloud Storage. All buckets are public."""

    @property
    def options(self) -> dict[str, Any]:
        """The options for gcsfs."""
        return {"token": "anon", "endpoint_url": self.url, "project": "test"}

    def upload(self, bucket: str, contents: Contents) -> str:
        """Add objects to a bucket, create it if necessary, and return its URL."""
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
    """Serve an empty Google Cloud Storage with gcp-storage-emulator, in memory."""
    from gcp_storage_emulator.server import RequestHandler
    from gcp_storage_emulator.storage import Storage

    class Emulator(HTTPServer):
        # Without threads, because its storage has no locks.
        request_queue_size = 128

    handler = partial(RequestHandler, Storage(use_memory_fs=True))
    server = Emulator((LOOPBACK, 0), handler)
    with _running(server), GCSServer(f"http://{LOOPBACK}:{server.server_address[1]}") as proxy:
        yield proxy


# A store that counts rounds of requests.


@dataclass
class RequestLog:
    """The requests to a store, and the number of rounds.

    Concurrent requests are one round. The number of rounds is the length of the longest chain of requests in which
    each began after the end of the previous one.
    """

    #: The operation and the key or prefix of each request, in order.
    requests: list[tuple[str, str]] = field(default_factory=list)
    rounds: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    _ended: int = 0
    _wave: asyncio.Event | None = None

    @contextmanager
    def request(self, operation: str, *keys: str) -> Iterator[None]:
        """Record concurrent requests that last until the end of the context."""
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
        """Wait for a delay, and again while further requests begin. All these requests end together."""
        if self._wave is not None:
            await self._wave.wait()
            return
        wave = self._wave = asyncio.Event()
        try:
            known = 0
            while known != len(self.requests):  # concurrent requests may begin slowly
                known = len(self.requests)
                await asyncio.sleep(delay)
        finally:
            self._wave = None
            wave.set()

    def clear(self) -> None:
        """Clear all requests. No request may be waiting."""
        self.requests.clear()
        self.rounds = self._ended = self.most_in_flight = 0


def _kind(operation: str, key: str) -> str:
    """Return "document" or "chunk" for a read, otherwise the operation."""
    if not operation.startswith("get"):
        return operation
    return "document" if key.rpartition("/")[2] in METADATA_KEYS else "chunk"


class DelayingStore(RecordingStore):
    """A recording store in which each request takes some seconds, as over a network.

    The time is extended while other requests begin, so that concurrent requests end together even on a slow
    machine. Copies, such as the read-only copies of zarr, share its log.
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
        """The number of reads of documents and of chunks, and of each other operation."""
        return dict(Counter(_kind(*request) for request in self.requests))

    # Not all versions of zarr use _with_store for copies, or compare the wrapped stores.

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
