"""Check a site that was built: each internal link leads somewhere, and each public name has its page.

python docs/check_site.py docs/_build/html
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

sys.path[:0] = [str(Path(__file__).parent)]

import api_names  # noqa: E402


class Links(HTMLParser):
    """The targets on a page, and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the tag's id, and where it leads."""
        for key, value in attrs:
            if key in ("id", "name") and value:
                self.ids.add(value)
            elif value and (key, tag) in (("href", "a"), ("src", "img"), ("href", "link"), ("src", "script")):
                self.links.add(value)


def broken(site: Path) -> list[str]:
    """Return the internal links that lead nowhere."""
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in paths}
    found = []
    for path, page in pages.items():
        for link in sorted(page.links):
            where, _, anchor = unquote(link).partition("#")
            if ":" in where or where.startswith("//"):
                continue
            target = (path.parent / where.partition("?")[0]).resolve() if where else path
            anchors = pages[target].ids if target in pages else set()
            if not target.exists() or (anchor and target in pages and anchor not in anchors):
                found.append(f"{path.relative_to(site)} links to {link}")
    return found


def missing(site: Path) -> list[str]:
    """Return the public names that have no page."""
    texts: dict[str, set[str]] = {}
    found = []
    for part, name in api_names.everything():
        page = site / "reference" / "api" / f"{api_names.page(part, name)}.html"
        if str(page) not in texts:
            texts[str(page)] = Links(page.read_text(encoding="utf-8")).ids if page.exists() else set()
        full = f"{api_names.module(part).__name__}.{name}"
        if full not in texts[str(page)]:
            found.append(f"{full} has no page")
    return found


def main() -> int:
    """Check the site that the command line names; returns 1 where something is amiss."""
    site = Path(sys.argv[1]).resolve()
    found = [*broken(site), *missing(site)]
    for line in found:
        sys.stderr.write(f"{line}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
