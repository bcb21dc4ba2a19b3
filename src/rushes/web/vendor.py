"""Fetches the libraries of the page from their npm packages: `python -m rushes.web.vendor`.

Needs npm, which knows where packages are. What it writes is committed, so nobody else needs it. A
library names others by their bare names, which only an inline import map could explain to a
browser; they are rewritten to the files beside it.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "static" / "vendor"
MANIFEST = FOLDER / "manifest.json"


class Library(NamedTuple):
    package: str
    version: str
    source: str
    file: str
    licence: str


LIBRARIES = (
    Library("preact", "11.2.0", "dist/preact.mjs", "preact.mjs", "MIT"),
    Library("preact", "11.2.0", "hooks/dist/hooks.mjs", "preact-hooks.mjs", "MIT"),
    Library("htm", "3.1.1", "dist/htm.mjs", "htm.mjs", "Apache-2.0"),
    Library("@preact/signals-core", "1.14.5", "dist/signals-core.mjs", "signals-core.mjs", "MIT"),
    Library("@preact/signals", "2.11.4", "dist/signals.mjs", "signals.mjs", "MIT"),
    Library("tus-js-client", "4.3.1", "dist/tus.min.js", "tus.min.js", "MIT"),
    Library("hls.js", "1.7.4", "dist/hls.min.mjs", "hls.mjs", "Apache-2.0"),
)
BARE = {
    "preact": "./preact.mjs",
    "preact/hooks": "./preact-hooks.mjs",
    "@preact/signals-core": "./signals-core.mjs",
}
NAMED = re.compile(r"""(from\s*|import\s*)(["'])(@?[a-z][\w/-]*)\2""")
MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


def main() -> None:
    """Write every library, its licence, and a manifest with the digest of each file."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for library in LIBRARIES:
            package = _fetch(library, Path(folder))
            text = (package / library.source).read_text("utf-8")
            (FOLDER / library.file).write_text(_relative(text), "utf-8")
            name = library.package.rpartition("/")[2]
            licence = (package / "LICENSE").read_text("utf-8")
            (FOLDER / f"{name}.LICENSE.txt").write_text(licence, "utf-8")
    entries = [{**one._asdict(), "sha256": digest_of(one.file)} for one in LIBRARIES]
    MANIFEST.write_text(json.dumps(entries, indent=2) + "\n")


def digest_of(file: str) -> str:
    return hashlib.sha256((FOLDER / file).read_bytes()).hexdigest()


def _fetch(library: Library, folder: Path) -> Path:
    wanted = f"{library.package}@{library.version}"
    packed = subprocess.run(
        ["npm", "pack", "--silent", wanted], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()
    place = folder / packed.removesuffix(".tgz")
    with tarfile.open(folder / packed) as archive:
        archive.extractall(place, filter="data")
    return place / "package"


def _relative(text: str) -> str:
    """Rewrite bare names, which must all be known, and leave out the address of a source map."""
    return MAP.sub("", NAMED.sub(lambda m: f"{m[1]}{m[2]}{BARE[m[3]]}{m[2]}", text))


if __name__ == "__main__":
    main()
