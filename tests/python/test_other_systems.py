"""Set-up where Debian's packages are not known: what is needed is named, and nothing fails."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_system_without_debian_packages_hears_what_is_needed(tmp_path):
    for command in ("bash", "env", "true"):
        (tmp_path / command).symlink_to(shutil.which(command))
    words = [
        "scripts/debian_packages.sh",
        "true=coreutils",
        "no-such-compiler=g++",
        "libeigen3-dev",
        "libfmt-dev",
    ]
    done = subprocess.run(
        words, cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    first, commands, headers = done.stderr.splitlines()
    assert "This is not a Debian system" in first
    assert commands.split(": ")[1] == "no-such-compiler"
    assert headers.split(": ")[1] == "libeigen3-dev libfmt-dev"
    done = subprocess.run(
        [words[0], "true=coreutils"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(done.stderr.splitlines()) == 1
