"""Secrets in URIs do not appear in returned objects, errors or warnings."""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import xarray as xr
from hypothesis import Phase, assume, example, given, settings
from hypothesis import strategies as st

from zarr_xgroup import XGroupError, XGroupStoreError, XGroupWarning, check, explain
from zarr_xgroup.metadata.references import Reference
from zarr_xgroup.redaction import RedactedError, redact, redact_causes, redact_urls
from zarr_xgroup.report.page import page
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    below,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
    quietly,
    write_local,
)
from zarr_xgroup.tests.servers import Fault, FileServer
from zarr_xgroup.tests.tables import rows

SECRET = "S3CRET"
#: A port at which nobody answers.
HOST = "127.0.0.1:9"

#: To make an example smaller takes longer than to read it.
few = settings(max_examples=3, deadline=None, phases=(Phase.explicit, Phase.generate))

odd = st.text("a1:@/?#%[]|+&=é'\"\\.", max_size=4)
secrets = st.builds("{}{}{}".format, odd, st.just(SECRET), odd)
schemes = st.sampled_from(["http", "HTTP", "ftp", "nosuch"])
users = st.sampled_from(["alice", "", "a.b", "é"])
#: A password in a URL is percent-encoded (RFC 3986, section 3.2.1), a query need not be.
quoted = secrets.map(lambda secret: quote(secret, safe=""))
encoded = st.builds(f"{{}}://{{}}:{{}}@{HOST}/store.zarr".format, schemes, users, quoted)
simple = st.one_of(
    encoded,
    st.builds(
        f"{{}}://{HOST}/store.zarr{{}}a={{}}".format, schemes, st.sampled_from("?#"), secrets
    ),
    st.builds(
        f"//{HOST}/store.zarr?{{}}={SECRET}".format, st.sampled_from(["sig", "X-Amz-Signature"])
    ),
    st.sampled_from(
        [f"http://{SECRET}@{HOST}/store.zarr", f"http://{HOST}/proxy/http://alice:{SECRET}@host/a"]
    ),
)
links = ["simplecache", "zip://in/side", "zip", "reference", f"http://x:{SECRET}@h"]
uris = st.one_of(simple, st.builds("{}::{}".format, st.sampled_from(links), simple))


# Texts.


@given(uris)
@settings(max_examples=100, deadline=None)
def test_no_text_with_a_uri_shows_a_secret(uri: str) -> None:
    assert SECRET not in f"{Reference('/a', uri)} {Reference('/a', uri)!r}"
    for text in (uri, f"reading '{uri}/zarr.json' failed", f"{uri}: me@home, {uri}"):
        assert SECRET not in redact(text)
        assert redact(redact(text)) == redact(text)
        assert SECRET not in f"{XGroupError(text)} {XGroupWarning(text)}"
        assert SECRET not in repr(vars(XGroupStoreError(store=redact(text), reason=text)))


@rows(
    {
        "user information": ("http://alice:a%3Ab@host:80/c d", "http://host:80/c d"),
        "user information with an @": ("http://me@home:a@host/c", "http://host/c"),
        "query": ("'http://host/a?b=c&d', 1", "'http://host/a', 1"),
        "fragment": ("(http://host/a#b).", "(http://host/a)."),
        "query in JSON": (
            '{"uri": "http://host/a?b", "node": "c"}',
            '{"uri": "http://host/a", "node": "c"}',
        ),
        "IPv6": ("http://[::1]:80/a", "http://[::1]:80/a"),
        "chain": ("zip::b/c.zip::http://host/e?f", "zip::b/c.zip::http://host/e"),
        "chain of URLs": ("zip://b::http://u:p@host/e", "zip://b::http://host/e"),
        "ARN": (arn := "s3://arn:aws:s3:eu-west-1:1234:accesspoint/a", arn),
        "file": ("file:///me@home/a#b?c.zarr", "file:///me@home/a#b?c.zarr"),
        "path": ("/data//me@home/a#b?c.zarr", "/data//me@home/a#b?c.zarr"),
        "path of Windows": ("C:/me@home", "C:/me@home"),
        "path made of a URL": ("/g/http:/u:p@host/a?b", "/g/http:/host/a"),
        "port": (
            "http://host:8080: refused, ask me@home",
            "http://host:8080: refused, ask me@home",
        ),
        "short reference": (link := "/g/v#/attributes/x: 'http://host/a|../x#/attributes/y'", link),
        "name in a header": (
            "{'Authorization': 'Basic a\\'b', 'a': 1}",
            "{'Authorization': ..., 'a': 1}",
        ),
        "name in JSON": (
            '{"client_secret": "a b", "token": 1}',
            '{"client_secret": ..., "token": ...}',
        ),
        "name in JSON that is cut": (
            '{"aws_secret_access_key": "a b',
            '{"aws_secret_access_key": ...',
        ),
        "name in a query": ("a/x.zarr?sig=a%2Bb&api_key=c", "a/x.zarr?sig=...&api_key=..."),
        "name in prose": (prose := "no token: 'signal=1', design=2", prose),
        "free text is not searched": (free := "alice:pass@host:/c, the password is x", free),
    },
    "text, expected",
)
def test_redacted_text(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_names_of_nodes_are_exact_where_programs_read_them() -> None:
    error = XGroupStoreError("/token=1: failed", place="/token=1", target="http://u:p@h/token=1")
    assert (error.place, error.target) == ("/token=1", "http://h/token=1")


@pytest.mark.parametrize(
    "part",
    [
        "http://a:b",
        " //",
        "::zip",
        "|",
        "@",
        "a",
        "://",
        "'uri': '",
        "x://a:b::c",
        "token='",
        "token",
    ],
)
def test_long_texts_are_redacted_quickly(part: str) -> None:
    text = part * 10_000  # compared from each place on: minutes
    for uri in (f"http://{text}", f"@{text}@"):
        for function in (redact, redact_urls):
            assert len(function(uri)) <= len(uri)


# All that is handed out.


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and all that it came from."""
    pending, seen = [error], set()
    while pending:
        link = pending.pop()
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            yield link
            pending += [link.__cause__, link.__context__, *getattr(link, "exceptions", ())]


def shown_by(error: BaseException) -> Iterator[str]:
    """Yield all that an error or a warning shows."""
    yield "".join(traceback.format_exception(error))
    for link in chain_of(error):
        yield from (str(link), repr(link), repr(link.args))
        if isinstance(link, XGroupError | XGroupWarning):
            yield repr(vars(link))
            yield str(pickle.dumps(link))
        if isinstance(link, XGroupWarning) and link.error is not None:
            yield from shown_by(link.error)


def shown_by_dataset(dataset: xr.Dataset, own: Container[str]) -> Iterator[str]:
    """Yield all that a Dataset shows but what stands in the store's own attributes."""
    bare = dataset.copy()
    bare.attrs = {}
    for variable in bare.variables.values():
        variable.attrs = {key: it for key, it in variable.attrs.items() if key not in own}
        variable.encoding = {key: it for key, it in variable.encoding.items() if key not in own}
        yield repr([variable.attrs, variable.encoding, variable._data])
    yield f"{dataset.encoding} {bare!r} {bare._repr_html_()}"
    yield str(pickle.dumps(quietly(bare.load)))


def assert_untold(texts: Iterable[str]) -> None:
    for text in texts:
        assert SECRET not in text.replace("%20", " ")


def assert_untold_of(each: Sequence[Mapping[str, Any]]) -> None:
    """Open, explain and check a store with an array of each of such attributes, in a group of its own."""
    names = ("cs", "ref", "geolocation", "proj", "spatial", "uom")
    declared = {"zarr_conventions": [{"name": name} for name in names]}
    x, own = Array([1.0, 2.0], ("x",)), {key for attributes in each for key in attributes}
    arrays = [Array([[1.0, 2.0]], ("y", "x"), declared | dict(it)) for it in each]
    groups = {f"g{n}": Group({"v": array, "x": x}) for n, array in enumerate(arrays)}
    store: Any = memory_store(build(Group(groups)))
    explanation, verdict = explain(store), check(store)
    for value in (explanation, verdict):
        assert_untold((repr(value), json.dumps(value.to_dict()), str(pickle.dumps(value))))
    assert_untold((explanation._repr_html_(), page(explanation)))
    tree, warnings = opened_with_warnings(xr.open_datatree, store)
    assert warnings
    for node in tree.leaves:
        assert_untold(shown_by_dataset(node.to_dataset(), own))
    for warning in warnings:
        assert_untold(shown_by(warning))


def referring(uri: str) -> Iterator[dict[str, Any]]:
    """Yield attributes with a URI where a reference has one."""
    reference = {"uri": uri, "node": "/x"}
    axis = {"coordinates": [{"values": {"external": reference}}]}
    yield {"cs": {"crs": [{"axes": {"x": axis}, "id": reference}]}}
    yield {"cs": reference, "ref": reference, "other": {"ref": {**reference, "attribute": "/a"}}}
    places = {"geodetic": {"x": reference, "y": reference}}
    declared = {"proj:code": reference, "zarr_conventions": [{"uri": uri}]}
    yield {"geolocation": places, "spatial:transform": reference, **declared}
    # What is shown as it is written.
    written = {"x": {"coordinates": [{"values": {"uri": uri}}]}}
    yield {"cs": {"crs": [{"axes": written, "id": [reference]}]}}


def mistaken(uri: str) -> Iterator[dict[str, Any]]:
    """Yield attributes with a URI where something else is expected."""
    yield {"cs": {"crs": [{"axes": {uri: {"name": uri}, "y": {"abbreviation": uri}}, "id": uri}]}}
    yield {"cs": uri, "geolocation": uri, "coordinates": uri, "grid_mapping": uri, "units": uri}
    yield {"ref": {"node": uri}, "other": {"ref": {"node": "/x", "attribute": uri}}}
    yield {"proj:code": uri, "proj:wkt2": uri, "proj:projjson": {"type": uri}}
    yield {"proj:code": {"uri": uri}, "spatial:dimensions": {"uri": uri}, "uom": {"uri": uri}}
    yield {"spatial:transform": uri, "spatial:dimensions": [uri, "x"], "spatial:bbox": uri}
    yield {"uom": uri, "zarr_conventions": [{"name": "cs", "schema_url": uri}, uri]}


@given(uris)
@example(f"bucket/x.zarr?sig={SECRET}")
@few
def test_opening_shows_no_secret_of_a_reference(uri: str) -> None:
    assert_untold_of([*referring(uri)])


@given(st.one_of(encoded, st.just(f"http://{HOST}/a?sig={SECRET}")))
@example(f"ftp://a.b:%7C%3A%3D%40{SECRET}%5C%26%5B%5B@{HOST}/store.zarr")  # cut where it is long
@few
def test_opening_shows_no_secret_of_an_invalid_value(uri: str) -> None:
    assert_untold_of([*mistaken(uri)])


@given(uris)
@settings(few, max_examples=10)
def test_errors_show_no_secret_of_the_url_of_the_store(uri: str) -> None:
    assume("://" in uri)  # otherwise it is a local path
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever libraries raise
        quietly(xr.open_dataset, uri, engine="xgroup")
    if isinstance(caught.value, XGroupError):
        assert_untold(shown_by(caught.value))


def test_storage_options_are_not_shown(tmp_path: Path) -> None:
    path = write_local(build(Group()), tmp_path / "s.zarr")
    for place in (path, "nosuch://host/a", f"http://{HOST}/a"):
        options: Any = {"storage_options": {"headers": {"a": SECRET}}}
        with pytest.raises(XGroupStoreError) as caught:
            xr.open_dataset(place, engine="xgroup", **options)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "uri",
    [
        f"s3://AKIA:{SECRET}@bucket/x",
        f"zip::s3://{SECRET}@bucket/x.zip",
        f"simplecache::gs://a:b::{SECRET}@bucket/x",
    ],
)
def test_a_bucket_has_no_credentials_in_its_url(uri: str) -> None:
    """Libraries would take them for a part of its name, and tell that."""
    with pytest.raises(XGroupStoreError) as caught:
        xr.open_dataset(uri, engine="xgroup")
    assert str(caught.value).endswith("Pass credentials for a bucket with storage_options")
    assert_untold(shown_by(caught.value))
    own = declaring("ref", it={"uri": uri, "node": "a"})
    store = memory_store(build(Group({"v": Array([3.0, 4.0], ("x",), own)})))
    _dataset, (warning,) = opened_with_warnings(xr.open_dataset, store)
    assert "is not an absolute URI of a store" in str(warning)
    assert_untold(shown_by(warning))


FAULTS = {
    "none": None,
    "401": Fault(401),
    "short": Fault(truncate=9),
    "no JSON": Fault(body=b"<html>"),
}


def serve_behind_password(server: FileServer, fault: Fault | None) -> str:
    """Serve a store, and return its URL with a password."""
    root = Group({"x": Array([1.0, 2.0], ("x",))})
    server.contents.update(below(build(root, consolidated=True), "a"))
    if fault is not None:
        server.faults["*"] = fault
    return server.url.replace("http://", f"http://alice:{SECRET}@") + "/a"


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_store_behind_a_password(http_server: FileServer, fault: Fault | None) -> None:
    url, plain = serve_behind_password(http_server, fault), f"{http_server.url}/a"
    if fault is None:
        groups = quietly(xr.open_groups, url, engine="xgroup")
        assert groups["/"].encoding["source"] == plain
        assert_untold(shown_by_dataset(groups["/"], {}))
        return
    with pytest.raises(XGroupError) as caught:
        quietly(xr.open_dataset, url, engine="xgroup")
    assert plain in str(caught.value)
    assert_untold(shown_by(caught.value))


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_another_store_behind_a_password(http_server: FileServer, fault: Fault | None) -> None:
    url = serve_behind_password(http_server, fault)
    for node in ("/x", "/absent", "/"):
        axis = {"coordinates": [{"values": {"external": {"uri": url, "node": node}}}]}
        own = declaring("cs", cs={"crs": [{"axes": {"x": axis}}]})
        store = memory_store(build(Group({"v": Array([3.0, 4.0], ("x",), own)})))
        dataset, warnings = opened_with_warnings(xr.open_dataset, store)
        assert len(warnings) == (fault is not None or node != "/x")
        assert_untold(shown_by_dataset(dataset, own))
        for warning in warnings:
            assert f"{http_server.url}/a" in str(warning)
            assert_untold(shown_by(warning))


# Causes.


def test_causes_that_show_secrets_are_replaced() -> None:
    class LibraryError(Exception):
        pass

    class ResponseError(Exception):
        def __repr__(self) -> str:
            return f"ResponseError(headers={{'Authorization': 'Basic {SECRET}'}})"

    url = f"http://alice:{SECRET}@host/a"
    inner = PermissionError(13, f"{url} denied", f"{url}/zarr.json")
    inner.__cause__, inner.__context__ = LibraryError(url), ResponseError()
    kept = ValueError("no")
    kept.__cause__ = inner
    error = XGroupError("failed")
    error.__cause__, error.__context__ = kept, ExceptionGroup("several", [inner])
    redact_causes(error)
    assert_untold(shown_by(error))
    assert error.__cause__ is kept
    assert isinstance(kept.__cause__, PermissionError)
    assert kept.__cause__.errno == 13
    stand_ins = [str(link) for link in chain_of(kept) if isinstance(link, RedactedError)]
    assert "LibraryError: http://host/a" in stand_ins
