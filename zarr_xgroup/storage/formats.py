"""What a file is that is no Zarr store, by its first bytes, and what reads it."""

from __future__ import annotations

from zarr_xgroup.i18n import _

#: How many bytes are looked at.
LOOKED_AT = 512

_NETCDF = "engine='netcdf4'"
_RASTERIO = "engine='rasterio' of rioxarray"
#: How files begin, what they are, and the option of `xarray.open_dataset` that reads them.
_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89HDF\r\n\x1a\n", "HDF5 (netCDF-4)", "engine='h5netcdf'"),
    *((b"CDF" + version, "netCDF-3", _NETCDF) for version in (b"\x01", b"\x02", b"\x05")),
    (b"\x0e\x03\x13\x01", "HDF4", _NETCDF),
    *((order, "TIFF (GeoTIFF)", _RASTERIO) for order in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")),
    (b"\0\0\0\x0cjP  ", "JPEG 2000", _RASTERIO),
    (b"GRIB", "GRIB", "engine='cfgrib'"),
)


def format_told(first: bytes, *, can_be_text: bool) -> str:
    """Return, in words, of what format a file is by its first bytes, "" if it is none that is known."""
    is_text = can_be_text and _is_text(first)
    return _told(first) or (_("it is a file of text") if is_text else "")


def _told(first: bytes) -> str:
    for beginning, name, option in _BEGINNINGS:
        if first.startswith(beginning):
            return _("it is a file of {name}, which xarray opens with {option}").format(
                name=name, option=option
            )
    if first.startswith(b"PK\x03\x04"):
        return _("it is a ZIP archive: if a store is in it, name it zip::... or rename it to .zip")
    if first.lstrip().startswith(b"{") and b'"refs"' in first:
        return _("it is a file of references of kerchunk: name it reference::...")
    if first.lstrip().startswith(b"{") and b'"stac_version"' in first:
        return _("it is a STAC document: open the href of one of its assets")
    return ""


def _is_text(first: bytes) -> bool:
    """Tell whether bytes are text in UTF-8, of which the last letter may be cut off, and no page of a server."""
    if not first or first.lstrip().startswith(b"<"):
        return False
    try:
        text = first.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(first) - 4 and len(first) == LOOKED_AT
    return all(letter.isprintable() or letter.isspace() for letter in text)
