"""Draw the pictures of the documentation, in `docs/images`.

The pictures of the pages are the figures that their code draws. The picture of README.md shows a
synthetic product at the coordinates that engine zarr and engine xgroup return. The picture of
an explanation is a screenshot of its HTML page.

The script needs the extra ``docs``, playwright, and a Chromium.
"""

import io
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import rioxarray  # noqa: F401 - registers the accessor `rio`
import xarray as xr
from PIL import Image
from playwright.sync_api import sync_playwright

from zarr_xgroup import explain
from zarr_xgroup.report.page import page
from zarr_xgroup.tests.pages import DOCS, Block, page_paths, run_page
from zarr_xgroup.tutorial import sample

IMAGES = DOCS / "images"

STYLE: Any = {
    "axes.edgecolor": "#888888",
    "axes.labelcolor": "#444444",
    "axes.titlesize": "medium",
    "figure.dpi": 100,
    "font.size": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "savefig.bbox": "tight",
    "savefig.dpi": 100,
    "xtick.color": "#666666",
    "ytick.color": "#666666",
}


def main() -> None:
    """Draw all pictures."""
    plt.switch_backend("agg")
    IMAGES.mkdir(exist_ok=True)
    with plt.rc_context(STYLE), tempfile.TemporaryDirectory() as folder:
        for path in page_paths():
            if "](" in (text := path.read_text(encoding="utf-8")):
                draw_page(path, text, Path(folder))
        draw_comparison(IMAGES / "before-after.png", Path(folder) / "product.zarr")
        draw_explanation(IMAGES / "explanation.png", Path(folder))


def draw_page(path: Path, text: str, folder: Path) -> None:
    """Run a page and save the figures that its blocks draw."""

    def save(block: Block) -> None:
        if block.image is not None:
            _save(path.parent / block.image)
        plt.close("all")

    run_page(text, folder, save)


def draw_explanation(target: Path, folder: Path) -> None:
    """Draw the HTML explanation of the store in `tasks/explain.md`, which has a broken reference."""
    run_page((DOCS / "tasks" / "explain.md").read_text(encoding="utf-8"), folder)
    with chdir(folder):
        html = page(explain("product.zarr"))
    # Chromium does not run as root with its sandbox.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        with playwright.chromium.launch(executable_path=chromium, args=arguments) as browser:
            shown = browser.new_page(viewport={"width": 1100, "height": 900})
            shown.set_content(html)
            for name in ("images", "air_temperature"):
                shown.locator("summary").filter(has=shown.get_by_text(name, exact=True)).click()
            picture = shown.screenshot()
    _save_in_few_colours(io.BytesIO(picture), target)


def draw_comparison(target: Path, store: Path) -> None:
    """Draw three arrays of a product by row and column, and at their coordinates."""
    sample(store)
    figure: Any = plt.figure(figsize=(8.6, 4.4), layout="constrained")
    before, after = figure.subfigures(1, 2, width_ratios=(1, 1.15))
    before.suptitle('engine="zarr": dimensions without coordinates')
    after.suptitle('engine="xgroup": coordinates, CRS, times')
    _draw_before(before.subplots(2, 2), _opened(store, "zarr", consolidated=False))
    _draw_after(after.subplots(), _opened(store, "xgroup"))
    _save(target)
    plt.close("all")


def _opened(store: Path, engine: Any, **options: Any) -> dict[str, xr.Dataset]:
    return {
        group: xr.open_dataset(store, engine=engine, group=group, **options)
        for group in ("images/r60m", "sea", "weather")
    }


def _draw_before(axes: Any, groups: Mapping[str, xr.Dataset]) -> None:
    """Draw the arrays by row and column, as engine zarr opens them."""
    scene, sea, weather = groups.values()
    picture = {"add_colorbar": False, "cmap": "viridis"}
    _colours(scene).plot.imshow(rgb="band", robust=True, ax=axes[0, 0])
    sea.sst.plot.imshow(ax=axes[0, 1], **picture)
    weather.air_temperature[2].plot.imshow(ax=axes[1, 0], **(picture | {"cmap": "magma"}))
    axes[1, 1].set_axis_off()
    text = "three groups,\nthree grids,\nno common map"
    axes[1, 1].text(0.5, 0.5, text, ha="center", va="center", color="#666666")
    for one, title in zip(axes.flat, ("images/r60m", "sea", "weather"), strict=False):
        one.set_title(title)
        one.invert_yaxis()


def _draw_after(axes: Any, groups: Mapping[str, xr.Dataset]) -> None:
    """Draw the arrays in one map, at the coordinates that engine xgroup attaches."""
    scene, sea, weather = groups.values()
    is_land = scene.nir > scene.red
    land = scene[["red", "green", "blue"]].where(is_land).rio.reproject("EPSG:4326")
    sea.sst.plot(x="longitude", y="latitude", cmap="viridis", ax=axes, cbar_kwargs={"shrink": 0.8})
    _colours(land).plot.imshow(rgb="band", robust=True, zorder=2, ax=axes)
    air = weather.air_temperature.isel(time=2)
    lines = air.plot.contour(levels=12, colors="white", linewidths=0.8, zorder=3, ax=axes)
    axes.set(xlim=(-18.38, -17.64), ylim=(28.42, 29.12), aspect=1.14)
    axes.clabel(lines, fmt="%.1f °C", fontsize=8)
    axes.set_title(f"{scene.rio.crs} and degrees, {air.time.dt.strftime('%d %B %Y, %H:%M').item()}")


def _colours(scene: xr.Dataset) -> xr.DataArray:
    return scene[["red", "green", "blue"]].to_dataarray("band")


def _save(target: Path) -> None:
    """Save the current figure."""
    buffer = io.BytesIO()
    plt.savefig(buffer)
    _save_in_few_colours(buffer, target)


def _save_in_few_colours(picture: io.BytesIO, target: Path) -> None:
    """Save a picture in 256 colours, which takes a third of the bytes."""
    with Image.open(picture) as image:
        image.convert("RGB").quantize(256).save(target, optimize=True)


if __name__ == "__main__":
    main()
