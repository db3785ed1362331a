"""Pages of the site in a headless browser: their appearance, and elements that overflow.

``python -m tests.site.browser site`` checks all pages of a built site, at both widths, for elements that overflow the
page or their box.
"""

import functools
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DESKTOP, PHONE = 1280, 390
HEIGHT = 1600
# A few at a time: each frame of a page takes memory until the browser exits.
AT_ONCE = 6
SECONDS = 120

# Pages in frames: a frame may be narrower than a window, and sets the colour scheme of its page. Elements wider than
# the page are reported, unless they are in a scrolling box that fits.
DRIVER = """<!doctype html>
<style>body { margin: 0; white-space: nowrap; font-size: 0 } iframe { border: 0; height: HEIGHTpx }</style>
FRAMES
<script>
const end = element => element.getBoundingClientRect().right;
const scrolls = (element, width, style) => {
  const inside = box => ["auto", "scroll"].includes(style(box).overflowX) && end(box) <= width + 1;
  for (let box = element.parentElement; box; box = box.parentElement) if (inside(box)) return true;
  return false;
};
const view = frame => {
  const page = frame.contentDocument, width = frame.clientWidth, wide = [];
  const style = element => frame.contentWindow.getComputedStyle(element);
  // Colours change slowly otherwise.
  page.head.append(Object.assign(page.createElement("style"), {textContent: "* { transition: none !important }"}));
  page.body.dataset.mdColorScheme = frame.dataset.scheme;
  if (!page.querySelector(".md-content")) wide.push("this is no page of the site");
  page.querySelectorAll("details").forEach(each => each.open = true);
  if (page.documentElement.scrollWidth > width) wide.push(`the page is ${page.documentElement.scrollWidth} wide`);
  for (const each of page.querySelectorAll(".md-content *, .md-footer *")) {
    const name = `${each.tagName.toLowerCase()}.${each.className}`;
    if (end(each) > width + 1 && !scrolls(each, width, style))
      wide.push(`${name} ends at ${Math.round(end(each))}: ${each.textContent.slice(0, 60)}`);
  }
  page.querySelectorAll("details").forEach(each => each.open = false);
  return wide;
};
onload = () => {
  const found = [...document.querySelectorAll("iframe")].map(frame => {
    try { return view(frame); } catch (problem) { return [`${problem}`]; }
  });
  const request = new XMLHttpRequest();
  request.open("POST", "/found", false);
  request.send(JSON.stringify(found));
};
</script>
"""


@dataclass(frozen=True)
class View:
    """A view of a page: `width` in pixels, `scheme` ``default`` (light) or ``slate`` (dark)."""

    page: str
    width: int
    scheme: str = "default"

    @property
    def frame(self) -> str:
        colours = "dark" if self.scheme == "slate" else "light"
        style = f"width: {self.width}px; color-scheme: {colours}"
        return f'<iframe src="/{self.page}" data-scheme="{self.scheme}" style="{style}"></iframe>'


def executable() -> str | None:
    """The browser on this machine, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name)) is not None), None)


def shown(site: Path, views: Sequence[View]) -> tuple[bytes, list[list[str]]]:
    """A PNG with the views next to each other, and for each of them the overflowing elements.

    Raises `OSError` if the browser does not run.
    """
    browser = executable()
    assert browser is not None
    page = DRIVER.replace("HEIGHT", str(HEIGHT)).replace("FRAMES", "".join(view.frame for view in views))
    with _served(site, {"/driver.html": page}) as (address, found), tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "shown.png"
        command = [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
            *(f"--user-data-dir={folder}/profile", "--force-device-scale-factor=1", "--virtual-time-budget=20000"),
            *(f"--window-size={sum(view.width for view in views)},{HEIGHT}", f"--screenshot={picture}"),
            f"{address}/driver.html",
        ]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired as problem:
            raise OSError(f"{browser} was not done after {SECONDS} seconds") from problem
        if not picture.exists() or len(found) != 1:
            raise OSError(f"{browser} showed nothing: {ran.stderr[-500:]}")
        return picture.read_bytes(), found[0]


@contextmanager
def _served(site: Path, pages: Mapping[str, str]) -> Iterator[tuple[str, list[Any]]]:
    """Serves the folder and `pages` on this machine, and collects posted data."""
    posted: list[Any] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            if self.path in pages:
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.copyfile(BytesIO(pages[self.path].encode()), self.wfile)
            else:
                super().do_GET()

        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", posted
        finally:
            server.shutdown()
            thread.join()


def too_wide(site: Path, pages: Sequence[str]) -> dict[str, list[str]]:
    """Overflowing elements by page and width."""
    views = [View(page, width) for page in pages for width in (DESKTOP, PHONE)]
    found: dict[str, list[str]] = {}
    for start in range(0, len(views), AT_ONCE):
        inside = views[start : start + AT_ONCE]
        for view, wide in zip(inside, shown(site, inside)[1], strict=True):
            if wide:
                found[f"{view.page} at {view.width}"] = wide
    return found


def main(arguments: list[str]) -> int:
    """Prints overflowing elements; 1 if there are any, 2 without a browser."""
    if executable() is None:
        print(f"no browser: none of {', '.join(NAMES)} is installed", file=sys.stderr)
        return 2
    site = Path(arguments[0])
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    try:
        found = too_wide(site, arguments[1:] or pages)
    except OSError as problem:
        print(problem, file=sys.stderr)
        return 2
    for place, wide in found.items():
        print(place, *wide[:5], sep="\n    ")
    print(f"{len(arguments[1:] or pages)} pages, {len(found)} do not fit")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
