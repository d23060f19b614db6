"""Builds the wheel and the source distribution (PEP 517) with the standard library alone.

A backend from PyPI would have to be fetched before each installation from a checkout.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

ROOT = Path(__file__).resolve().parent
# The same bytes each time. Zip files know no earlier time.
ZIP_TIME = (1980, 1, 1, 0, 0, 0)

File = Tuple[str, bytes]


def build_wheel(
    wheel_directory: str,
    config_settings: Optional[Dict[str, Any]] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    name = f"{_stem()}-py3-none-any.whl"
    source = ROOT / "src"
    files = [(path.relative_to(source).as_posix(), path.read_bytes()) for path in _files(source / "hookferry")]
    info = f"{_stem()}.dist-info"
    files += [
        (f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes()),
        (f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: hookferry\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
        (f"{info}/METADATA", _metadata()),
    ]
    record = "".join(f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in files)
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as archive:
        for path, content in files:
            entry = zipfile.ZipInfo(path, ZIP_TIME)
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    name = f"{_stem()}.tar.gz"
    paths = [ROOT / each for each in ("LICENSE", "README.md", "backend.py", "pyproject.toml")]
    paths += _files(ROOT / "src") + _files(ROOT / "tests")
    files = [(path.relative_to(ROOT).as_posix(), path.read_bytes()) for path in paths]
    with tarfile.open(Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, content in [*files, ("PKG-INFO", _metadata())]:
            entry = tarfile.TarInfo(f"{_stem()}/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return name


def read_project(text: str) -> Dict[str, Dict[str, Any]]:
    """The tables of pyproject.toml. Their values are texts, lists of texts and `true` here, which Python writes alike."""
    tables: Dict[str, Dict[str, Any]] = {}
    pattern = re.compile(r'^\[(?P<table>[\w.-]+)\]$|^(?P<name>[\w-]+) = (?P<value>".*"|\[[^\]]*\]|true)$', re.MULTILINE)
    table: Dict[str, Any] = {}
    for found in pattern.finditer(text):
        if found["table"] is not None:
            table = tables.setdefault(found["table"], {})
        else:
            table[found["name"]] = ast.literal_eval(found["value"].replace("true", "True"))
    return tables


def _metadata() -> bytes:
    """Core metadata 2.4."""
    tables = read_project((ROOT / "pyproject.toml").read_text("utf-8"))
    project = tables["project"]
    fields: List[Tuple[str, str]] = [
        ("Metadata-Version", "2.4"),
        ("Name", project["name"]),
        ("Version", _version()),
        ("Summary", project["description"]),
        ("Requires-Python", project["requires-python"]),
        ("License-Expression", project["license"]),
        *[("License-File", path) for path in project["license-files"]],
        ("Keywords", ",".join(project["keywords"])),
        *[("Classifier", classifier) for classifier in project["classifiers"]],
        *[("Project-URL", f"{label}, {url}") for label, url in tables["project.urls"].items()],
    ]
    for extra, requirements in tables["project.optional-dependencies"].items():
        fields.append(("Provides-Extra", extra))
        fields += [("Requires-Dist", f'{requirement}; extra == "{extra}"') for requirement in requirements]
    fields.append(("Description-Content-Type", "text/markdown"))
    head = "".join(f"{name}: {value}\n" for name, value in fields)
    return f"{head}\n{(ROOT / project['readme']).read_text('utf-8')}".encode()


def _version() -> str:
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "src/hookferry/version.py").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError("version.py has no __version__.")
    return found[1]


def _stem() -> str:
    return f"hookferry-{_version()}"


def _files(folder: Path) -> List[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in (".py", ".typed") or path.name == "py.typed")


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
