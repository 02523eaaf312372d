"""The HTML page of an explanation: one file that needs nothing else, or a frame of a notebook.

``page.html``, ``page.css`` and ``page.js`` beside this module are its parts. The explanation is
put into it as JSON, compressed, and the script makes text of that, never markup. The page forbids
itself anything but its own style and script (Content Security Policy): it asks no network.
"""

import base64
import hashlib
import html
import json
import zlib
from collections.abc import Callable
from importlib import resources
from string import Template

from zarr_xgroup.redaction import printable
from zarr_xgroup.report.explanation import Explanation, JsonValue
from zarr_xgroup.report.folding import Folding

#: For how many numbers the page is told which plural form they take; rules repeat each 100.
_NUMBERS = 200

#: How many letters the frame of a notebook may have: they are saved with it.
_MOST_IN_NOTEBOOK = 300_000
#: Of how many arrays and references a page can be as small as that.
_MOST_TOLD = 50_000

#: A frame that may do nothing but run its script, and the text that shows where there is no frame.
#: The frame says how high the page is, and becomes as high up to a limit.
_FRAME = """\
<style>.zarr-xgroup + pre { display: none }</style>\
<iframe class="zarr-xgroup" sandbox="allow-scripts" srcdoc='$page' style="display: block; \
box-sizing: border-box; width: 100%; height: 480px; border: 0; resize: vertical"></iframe>\
<pre>$text</pre>\
<script>
if (!window.zarrXgroup) addEventListener("message", window.zarrXgroup = ({ source, data }) => {
  for (const frame of document.querySelectorAll("iframe.zarr-xgroup"))
    if (frame.contentWindow === source && Number.isFinite(data?.zarrXgroupHeight))
      frame.style.height = Math.min(data.zarrXgroupHeight, 900) + "px";
});
</script>"""


def framed(found: Explanation, text: str) -> str:
    """Return the page of an explanation in a frame, as a notebook shows it.

    Parameters
    ----------
    found : Explanation
        What was found.
    text : str
        The same as text: what shows where frames or scripts do not, or if the page is too large.
    """
    if sum(len(group.arrays) for group in found.groups) + len(found.references) <= _MOST_TOLD:
        inside = _page(found, text).replace("&", "&amp;").replace("'", "&#39;")
        whole = Template(_FRAME).substitute(page=inside, text=html.escape(text))
        if len(whole) <= _MOST_IN_NOTEBOOK:
            return whole
    hint = "The page of it is too large for a notebook: xgroup explain --html writes it."
    return f"<pre>{html.escape(text)}\n\n{html.escape(hint)}</pre>"


def page(found: Explanation) -> str:
    """Return an explanation as an HTML page.

    Parameters
    ----------
    found : Explanation
        What `explain` returned.

    Returns
    -------
    str
        The file, in ASCII letters only: it means the same in whatever encoding it is written.
    """
    return _page(found, "This page needs JavaScript, which this browser does not run.")


def _page(found: Explanation, otherwise: str) -> str:
    """Return the page, with a text that shows where its script does not run."""
    style, script = _part("page.css"), _part("page.js")
    texts = _texts()
    shown = {
        "title": f"What {printable(found.store)} says",
        "store": printable(found.store),
        "otherwise": otherwise,
        **{name: texts.pop(name) for name in _IN_TEMPLATE},
    }
    counts: dict[str, JsonValue] = {name: _forms(form) for name, form in _counts().items()}
    whole = Template(_part("page.html")).substitute(
        {name: html.escape(text) for name, text in shown.items()},
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        data=_compressed(
            {
                "explanation": found.to_dict(),
                "alike": list(Folding(found).likeness()),
                "texts": dict(texts),
                "counts": counts,
            }
        ),
    )
    return whole.encode("ascii", "xmlcharrefreplace").decode()


def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="ascii")


def _hash(text: str) -> str:
    """Return what the Content Security Policy calls a text that it allows."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _compressed(value: dict[str, JsonValue]) -> str:
    """Return JSON, compressed and in base64."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode()


def _forms(form: Callable[[int], str]) -> JsonValue:
    """Return the plural forms of a text, and for each number the index of its form."""
    chosen = [form(number) for number in range(_NUMBERS)]
    forms = list(dict.fromkeys(chosen))
    return {"forms": list(forms), "which": [forms.index(text) for text in chosen]}


#: The texts that the template shows; the script is given the others.
_IN_TEMPLATE = ("convention", "filters", "hierarchy", "search", "show_only")


def _texts() -> dict[str, str]:
    """Return the texts of the page by what the template and the script call them."""
    return {**_of_frame(), **_of_picture(), **_of_details(), **_of_parts()}


def _of_frame() -> dict[str, str]:
    return {
        "filters": "Search and filter",
        "search": "Search paths, dimensions, coordinates, CRS",
        "show_only": "Show only",
        "convention": "Convention",
        "anyConvention": "Any convention",
        "problemsFlag": "With problems",
        "brokenFlag": "References that lead nowhere",
        "missingFlag": "Without a coordinate",
        "found": "{number} of {all}",
        "format": "Zarr v{number}",
        "consolidated": "consolidated",
        "notConsolidated": "not consolidated",
    }


def _of_picture() -> dict[str, str]:
    return {
        "hierarchy": "Groups and arrays",
        "elsewhere": "Elsewhere",
        "scalar": "scalar",
        "range": "{first} … {last}",
        "coordinate": "coordinate",
        "without": "no coordinate {names}",
        "legendTo": "refers to",
        "legendFallback": "refers to, by another rule than the first",
        "legendNowhere": "leads nowhere",
        "legendLoss": "something is lost",
        "legendNoLoss": "nothing is lost",
        "picture": "References between groups.",
        "arrow": "{references} of {from} to {name}.",
        "arrowNowhere": "{references} of {from} to nowhere.",
        "to": "{references} to {name}",
        "from": "{references} from {name}",
        "inside": "{references} within",
        "nowhere": "{references} to nowhere",
    }


def _of_details() -> dict[str, str]:
    return {
        "close": "Close",
        "array": "Array",
        "group": "Group",
        "store": "Other store",
        "outside": "Elsewhere in this store",
        "dimensions": "Dimensions",
        "type": "Type",
        "crs": "CRS",
        "missing": "No coordinate along",
        "arraysBelow": "Arrays, with those below",
        "problemsTitle": "Problems",
        "conventionsTitle": "Conventions",
        "levelsTitle": "Levels",
        "coordinatesTitle": "Coordinates",
        "arraysTitle": "Arrays",
        "groupsTitle": "Groups",
        "referencesTitle": "References",
        "referredByTitle": "Referred to by",
    }


def _of_parts() -> dict[str, str]:
    """Return the words for conventions, coordinates, references and problems."""
    return {
        "principal": "principal",
        "recognised": "recognised: nothing about coordinates",
        "unknown": "unknown: nothing is read of it",
        "service": "service",
        "declaredIn": "declared in",
        "undeclared": "not declared",
        "own": "array of this group",
        "stored": "array of another group",
        "foreign": "array of another store",
        "computed": "computed",
        "inline": "in metadata",
        "given": "given by a plug-in",
        "index": "index",
        "storedIn": "stored in",
        "bounds": "cell boundaries: {name}",
        "leadsTo": "leads to",
        "leadsNowhere": "leads nowhere",
        "byFallback": "by another rule than the first",
        "at": "at",
        "concerns": "concerns",
        "level": "level",
        "resolution": "resolution",
        "cells": "rows x columns",
        "chunk": "of a chunk",
        "factor": "factor",
        "lost": "opened without {lost}",
    }


def _counts() -> dict[str, Callable[[int], str]]:
    """Return the texts that count, by what the script calls them."""
    return {
        "arrays": lambda n: "{count} array" if n == 1 else "{count} arrays",
        "groups": lambda n: "{count} group" if n == 1 else "{count} groups",
        "places": lambda n: "{count} place" if n == 1 else "{count} places",
        "references": lambda n: "{count} reference" if n == 1 else "{count} references",
        "broken": lambda n: "{count} leads nowhere" if n == 1 else "{count} lead nowhere",
        "problems": lambda n: "{count} problem" if n == 1 else "{count} problems",
        "alike": lambda n: "{count} group alike" if n == 1 else "{count} groups alike",
        "more": lambda n: "{count} more",
    }
