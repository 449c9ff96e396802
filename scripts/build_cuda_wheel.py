"""Writes the wheel carmina-cuda: libcarmina_cuda.so in a package carmina_cuda, where Carmina looks for it."""

from __future__ import annotations

import argparse
import base64
import hashlib
import platform
import re
import subprocess
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = "libcarmina_cuda.so"
DESCRIPTION = f"""# carmina-cuda

`{LIBRARY}`, the kernels of the package `carmina` for NVIDIA devices of compute capability 8.0 or later,
with the CUDA runtime in it: nothing else is needed but a driver. Carmina opens it when a device is asked for.
"""


def version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(Carmina VERSION ([0-9.]+)", text).group(1)


def platform_tag(library: Path) -> str:
    """By the newest symbol of the C library that it takes."""
    symbols = subprocess.run(["objdump", "-T", library], capture_output=True, text=True, check=True).stdout
    minor = max((int(found) for found in re.findall(r"GLIBC_2\.(\d+)", symbols)), default=17)
    return f"manylinux_2_{max(minor, 17)}_{platform.machine()}"


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def write_wheel(library: Path, folder: Path) -> Path:
    """The wheel of a library, in a folder."""
    name, tag = f"carmina_cuda-{version()}", f"py3-none-{platform_tag(library)}"
    metadata = [
        "Metadata-Version: 2.4",
        "Name: carmina-cuda",
        f"Version: {version()}",
        "Summary: Kernels of Carmina for NVIDIA devices",
        "License-Expression: BSD-3-Clause",
        "License-File: LICENSE",
        "Requires-Python: >=3.10",
        f"Requires-Dist: carmina=={version()}",
        "Description-Content-Type: text/markdown",
    ]
    files = {
        "carmina_cuda/__init__.py": f'"""{LIBRARY}, which Carmina opens by itself."""\n'.encode(),
        f"carmina_cuda/{LIBRARY}": library.read_bytes(),
        f"{name}.dist-info/METADATA": ("\n".join(metadata) + "\n\n" + DESCRIPTION).encode(),
        f"{name}.dist-info/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: carmina\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
        ),
        f"{name}.dist-info/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    record = f"{name}.dist-info/RECORD"
    lines = [f"{path},sha256={digest(data)},{len(data)}" for path, data in files.items()]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)  # of one date: the same library gives the same wheel
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path, help=f"the path of {LIBRARY}")
    parser.add_argument("--folder", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    wheel = write_wheel(args.library, args.folder)
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
