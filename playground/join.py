"""The playground as one file that needs no server: join.py PAGE COMPILED OUT."""

import base64
import gzip
import pathlib
import re
import sys

page, compiled, out = map(pathlib.Path, sys.argv[1:])
library = base64.b64encode(gzip.compress((compiled / "carmina.wasm").read_bytes(), 9)).decode()


def part(found: re.Match) -> str:
    """What stands in the place of a mark: a file beside the page, or what was compiled."""
    name = found[1]
    if name == "compressed library":
        return f'const COMPRESSED = "{library}";'
    return ((compiled if name == "carmina.js" else page.parent) / name).read_text()


text = re.sub(r"<!-- ([a-z]+\.(?:css|js)|compressed library) -->", part, page.read_text())
out.write_text(text)
print(f"{out}: {len(text.encode())} bytes")
