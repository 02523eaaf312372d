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

from zarr_xgroup.i18n import _, language, ngettext
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
    hint = _("The page of it is too large for a notebook: xgroup explain --html writes it.")
    return f"<pre>{html.escape(text)}\n\n{html.escape(hint)}</pre>"


def page(found: Explanation) -> str:
    """Return an explanation as an HTML page, in the user's language.

    Parameters
    ----------
    found : Explanation
        What `explain` returned.

    Returns
    -------
    str
        The file, in ASCII letters only: it means the same in whatever encoding it is written.
    """
    return _page(found, _("This page needs JavaScript, which this browser does not run."))


def _page(found: Explanation, otherwise: str) -> str:
    """Return the page, with a text that shows where its script does not run."""
    style, script = _part("page.css"), _part("page.js")
    texts = _texts()
    shown = {
        "title": _("What {store} says").format(store=printable(found.store)),
        "store": printable(found.store),
        "language": language(),
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
        "filters": _("Search and filter"),
        "search": _("Search paths, dimensions, coordinates, CRS"),
        "show_only": _("Show only"),
        "convention": _("Convention"),
        "anyConvention": _("Any convention"),
        "problemsFlag": _("With problems"),
        "brokenFlag": _("References that lead nowhere"),
        "missingFlag": _("Without a coordinate"),
        "found": _("{number} of {all}"),
        "format": _("Zarr v{number}"),
        "consolidated": _("consolidated"),
        "notConsolidated": _("not consolidated"),
    }


def _of_picture() -> dict[str, str]:
    return {
        "hierarchy": _("Groups and arrays"),
        "elsewhere": _("Elsewhere"),
        "scalar": _("scalar"),
        "range": _("{first} … {last}"),
        "coordinate": _("coordinate"),
        "without": _("no coordinate {names}"),
        "legendTo": _("refers to"),
        "legendFallback": _("refers to, by another rule than the first"),
        "legendNowhere": _("leads nowhere"),
        "legendLoss": _("something is lost"),
        "legendNoLoss": _("nothing is lost"),
        "picture": _("References between groups."),
        "arrow": _("{references} of {from} to {name}."),
        "arrowNowhere": _("{references} of {from} to nowhere."),
        "to": _("{references} to {name}"),
        "from": _("{references} from {name}"),
        "inside": _("{references} within"),
        "nowhere": _("{references} to nowhere"),
    }


def _of_details() -> dict[str, str]:
    return {
        "close": _("Close"),
        "array": _("Array"),
        "group": _("Group"),
        "store": _("Other store"),
        "outside": _("Elsewhere in this store"),
        "dimensions": _("Dimensions"),
        "type": _("Type"),
        "crs": _("CRS"),
        "missing": _("No coordinate along"),
        "arraysBelow": _("Arrays, with those below"),
        "problemsTitle": _("Problems"),
        "conventionsTitle": _("Conventions"),
        "levelsTitle": _("Levels"),
        "coordinatesTitle": _("Coordinates"),
        "arraysTitle": _("Arrays"),
        "groupsTitle": _("Groups"),
        "referencesTitle": _("References"),
        "referredByTitle": _("Referred to by"),
    }


def _of_parts() -> dict[str, str]:
    """Return the words for conventions, coordinates, references and problems."""
    return {
        "principal": _("principal"),
        "recognised": _("recognised: nothing about coordinates"),
        "unknown": _("unknown: nothing is read of it"),
        "service": _("service"),
        "declaredIn": _("declared in"),
        "undeclared": _("not declared"),
        "own": _("array of this group"),
        "stored": _("array of another group"),
        "foreign": _("array of another store"),
        "computed": _("computed"),
        "inline": _("in metadata"),
        "given": _("given by a plug-in"),
        "index": _("index"),
        "storedIn": _("stored in"),
        "bounds": _("cell boundaries: {name}"),
        "leadsTo": _("leads to"),
        "leadsNowhere": _("leads nowhere"),
        "byFallback": _("by another rule than the first"),
        "at": _("at"),
        "concerns": _("concerns"),
        "level": _("level"),
        "resolution": _("resolution"),
        "cells": _("rows x columns"),
        "chunk": _("of a chunk"),
        "factor": _("factor"),
        "lost": _("opened without {lost}"),
    }


def _counts() -> dict[str, Callable[[int], str]]:
    """Return the texts that count, by what the script calls them."""
    return {
        "arrays": lambda n: ngettext("{count} array", "{count} arrays", n),
        "groups": lambda n: ngettext("{count} group", "{count} groups", n),
        "places": lambda n: ngettext("{count} place", "{count} places", n),
        "references": lambda n: ngettext("{count} reference", "{count} references", n),
        "broken": lambda n: ngettext("{count} leads nowhere", "{count} lead nowhere", n),
        "problems": lambda n: ngettext("{count} problem", "{count} problems", n),
        "alike": lambda n: ngettext("{count} group alike", "{count} groups alike", n),
        "more": lambda n: ngettext("{count} more", "{count} more", n),
    }
